"""The pages, one module each: `PAGES` answers when an address is opened, `FORMS` when a form is sent to it."""
