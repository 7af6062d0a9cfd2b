-- The two logins of the gateway's state. Run once, by the superuser, in the database of the state.
--
-- The owner makes and changes the tables (`gateway db upgrade`). The application uses them and owns
-- none: it can add to the ledger and the trail, and can neither rewrite nor remove what is there.
-- The passwords come from the environment, so that they stand in no file and in no process list.

\set ON_ERROR_STOP on
\getenv owner_password STATE_OWNER_PASSWORD
\getenv application_password STATE_APPLICATION_PASSWORD

SET password_encryption = 'scram-sha-256';
CREATE ROLE gateway_owner LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'owner_password';
CREATE ROLE gateway_app LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'application_password';

ALTER DATABASE :"DBNAME" OWNER TO gateway_owner;
REVOKE ALL ON DATABASE :"DBNAME" FROM PUBLIC;
GRANT CONNECT ON DATABASE :"DBNAME" TO gateway_app;
