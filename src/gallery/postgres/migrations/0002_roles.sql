-- diml_reader searches; diml_writer also makes galleries, adds, changes and removes. Both are groups:
-- GRANT them to those who log in. Only the owner of the schema migrates it and makes indexes. Roles
-- belong to all databases of a server, so they may be there already.

DO $$
DECLARE
  role text;
BEGIN
  FOREACH role IN ARRAY ARRAY['diml_reader', 'diml_writer'] LOOP
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN CONTINUE; END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = current_user
                   AND (rolcreaterole OR rolsuper)) THEN
      RAISE NOTICE 'the role % was not made, for want of CREATEROLE: see docs/postgres.md', role;
      CONTINUE;
    END IF;
    BEGIN
      EXECUTE format('CREATE ROLE %I NOLOGIN', role);
    EXCEPTION WHEN duplicate_object OR unique_violation THEN
      NULL;  -- by another at the same time
    END;
  END LOOP;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'diml_reader') THEN
    GRANT USAGE ON SCHEMA diml TO diml_reader;
    GRANT SELECT ON ALL TABLES IN SCHEMA diml TO diml_reader;
  END IF;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'diml_writer') THEN
    GRANT USAGE ON SCHEMA diml TO diml_writer;
    GRANT SELECT ON ALL TABLES IN SCHEMA diml TO diml_writer;
    GRANT UPDATE (revision, next_id, items) ON diml.galleries TO diml_writer;
    GRANT INSERT, DELETE ON diml.items, diml.changes TO diml_writer;
    GRANT UPDATE (label, metadata, metadata_text, source_size, source_modified, source_sha256,
                  words_checksum, vector_checksum) ON diml.items TO diml_writer;
    GRANT EXECUTE ON FUNCTION diml.make_gallery, diml.drop_gallery TO diml_writer;
  END IF;
END $$;
