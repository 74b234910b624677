# Two stages: the wheel is built in the first, and the second has nothing but Python, the wheel and what it needs.
FROM python:3.11-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src ./src
COPY man ./man
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.11-slim
COPY --from=build /wheels /wheels
COPY constraints.txt /wheels/constraints.txt
# With the workbench, which asks no other host for anything.
RUN python -m pip install --no-cache-dir --constraint /wheels/constraints.txt "$(echo /wheels/queryveil-*.whl)[web]" && rm -r /wheels
# Nobody in particular: a log is read and a release is written with the rights of whoever runs the container.
RUN useradd --create-home --uid 10001 steward && install --directory --owner=steward --mode=0700 /data
USER steward
WORKDIR /data
VOLUME ["/data"]
# The workbench, where it is started with: serve --allow-remote
EXPOSE 8765
ENTRYPOINT ["queryveil"]
CMD ["--help"]
