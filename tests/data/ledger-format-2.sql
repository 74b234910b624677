-- A ledger as version 0.3 wrote it before events had mu and p (format 2).
PRAGMA application_id = 1364610119;
PRAGMA user_version = 2;
BEGIN TRANSACTION;
CREATE TABLE queryveil_budgets (
	source TEXT NOT NULL,
	neighbours TEXT NOT NULL,
	epsilon TEXT NOT NULL,
	delta TEXT NOT NULL,
	opened TEXT NOT NULL,
	PRIMARY KEY (source)
);
INSERT INTO "queryveil_budgets" VALUES('web-2006','replace-one-user','1.0','1e-06','2026-11-17T04:56:20Z');
INSERT INTO "queryveil_budgets" VALUES('maps','replace-one-user','5.0','1e-06','2026-11-17T04:56:21Z');
CREATE TABLE queryveil_events (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	source TEXT NOT NULL,
	time TEXT NOT NULL,
	method TEXT NOT NULL,
	headline TEXT NOT NULL,
	kind TEXT NOT NULL,
	epsilon TEXT,
	delta TEXT,
	FOREIGN KEY(source) REFERENCES queryveil_budgets (source)
);
INSERT INTO "queryveil_events" VALUES(1,'web-2006','2026-11-17T04:56:21Z','zealous','epsilon 0.25, delta 1e-07, if one user''s history is replaced (approximate differential privacy)','approximate-dp','0.25','1e-07');
INSERT INTO "queryveil_events" VALUES(2,'maps','2026-11-17T04:56:21Z','k-query','k = 50 (k-anonymity)','k-anonymity',NULL,NULL);
INSERT INTO "queryveil_events" VALUES(3,'web-2006','2026-11-17T04:56:21Z','steered','epsilon 0.25, delta 1e-07, if one user''s history is replaced (Gaussian differential privacy)','gaussian-dp','0.25','1e-07');
CREATE TABLE queryveil_seals (
	source TEXT NOT NULL,
	number INTEGER NOT NULL,
	terms TEXT NOT NULL,
	digest TEXT NOT NULL,
	PRIMARY KEY (source, number)
);
INSERT INTO "queryveil_seals" VALUES('web-2006',0,'only-composable','4f0100b8e4f964d782ee9ac34824e3ba06ea74c07a63602847df7cfc82546c0c');
INSERT INTO "queryveil_seals" VALUES('maps',0,'','bbea330d4a57fe07fdc387396481665c2a481c47f0ee3ecbb202e7ccaa45f1dc');
INSERT INTO "queryveil_seals" VALUES('web-2006',1,'','5dc6e4d909034b018c69b924bb1cee75b8a2f194832b096ce02242818b46cfa8');
INSERT INTO "queryveil_seals" VALUES('maps',1,'','3017aa97158aa7e99b9fe60c7281907e08ddf7cd3b23b04a645eba80fc235e8c');
INSERT INTO "queryveil_seals" VALUES('web-2006',2,'','beee0643940d3e039b6ece12e83a80e348cacaa0f9bd42c8dffc6966f26040a1');
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
