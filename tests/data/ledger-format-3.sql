-- A ledger as version 0.3 wrote it before events had who, recipe, period and losses (format 3).
PRAGMA application_id = 1364610119;
PRAGMA user_version = 3;
BEGIN TRANSACTION;
CREATE TABLE queryveil_budgets (
	source TEXT NOT NULL,
	neighbours TEXT NOT NULL,
	epsilon TEXT NOT NULL,
	delta TEXT NOT NULL,
	opened TEXT NOT NULL,
	PRIMARY KEY (source)
);
INSERT INTO "queryveil_budgets" VALUES('web-2006','replace-one-user','1.0','1e-06','2026-11-17T11:06:32Z');
INSERT INTO "queryveil_budgets" VALUES('maps','replace-one-user','5.0','1e-06','2026-11-17T11:06:33Z');
CREATE TABLE queryveil_events (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	source TEXT NOT NULL,
	time TEXT NOT NULL,
	method TEXT NOT NULL,
	headline TEXT NOT NULL,
	kind TEXT NOT NULL,
	epsilon TEXT,
	delta TEXT,
	mu TEXT,
	p TEXT,
	FOREIGN KEY(source) REFERENCES queryveil_budgets (source)
);
INSERT INTO "queryveil_events" VALUES(1,'web-2006','2026-11-17T11:06:33Z','zealous','epsilon 0.2, delta 1e-07, if one user''s history is replaced (approximate differential privacy)','approximate-dp','0.2','1e-07',NULL,NULL);
INSERT INTO "queryveil_events" VALUES(2,'maps','2026-11-17T11:06:34Z','click-graph','epsilon 0.5, if one user is added or removed (differential privacy)','pure-dp','1.0','0.0',NULL,NULL);
INSERT INTO "queryveil_events" VALUES(3,'web-2006','2026-11-17T11:06:34Z','steered','epsilon 0.3, delta 1e-07, if one user''s history is replaced (Gaussian differential privacy)','gaussian-dp','0.3','1e-07','0.06','1e-08');
CREATE TABLE queryveil_seals (
	source TEXT NOT NULL,
	number INTEGER NOT NULL,
	terms TEXT NOT NULL,
	digest TEXT NOT NULL,
	PRIMARY KEY (source, number)
);
INSERT INTO "queryveil_seals" VALUES('web-2006',0,'only-composable','5da23907163c82c6e524930396e3833016e6b0eb0906ff632069bf3fd96b22da');
INSERT INTO "queryveil_seals" VALUES('maps',0,'gaussian=0.5','12a533448de679ec15f3bbf487e6fdd7324ddc2ca62ff4243617d903fcd6069b');
INSERT INTO "queryveil_seals" VALUES('web-2006',1,'','4343797f32db76c3775f88315f14a1d69950a31d329cef7a2f451ebdbe1298dd');
INSERT INTO "queryveil_seals" VALUES('maps',1,'','2f16c8c911f763c278c089176b8747429e27cd8a228a033f5f499cfac95bb476');
INSERT INTO "queryveil_seals" VALUES('web-2006',2,'','f2a00c36e73019c1629a51e36b51426618fca2c2f9bc289d5e3bd44d2b5f72e8');
CREATE INDEX ix_queryveil_events_source ON queryveil_events (source);
CREATE TRIGGER queryveil_budgets_no_update BEFORE UPDATE ON queryveil_budgets BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER queryveil_budgets_no_delete BEFORE DELETE ON queryveil_budgets BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER queryveil_budgets_no_replace BEFORE INSERT ON queryveil_budgets WHEN EXISTS (SELECT 1 FROM queryveil_budgets WHERE source = NEW.source) BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER queryveil_events_no_update BEFORE UPDATE ON queryveil_events BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER queryveil_events_no_delete BEFORE DELETE ON queryveil_events BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER queryveil_events_no_replace BEFORE INSERT ON queryveil_events WHEN EXISTS (SELECT 1 FROM queryveil_events WHERE id = NEW.id) BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER queryveil_seals_no_update BEFORE UPDATE ON queryveil_seals BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER queryveil_seals_no_delete BEFORE DELETE ON queryveil_seals BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER queryveil_seals_no_replace BEFORE INSERT ON queryveil_seals WHEN EXISTS (SELECT 1 FROM queryveil_seals WHERE source = NEW.source AND number = NEW.number) BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('queryveil_events',3);
COMMIT;
