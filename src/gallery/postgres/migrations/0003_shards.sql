-- A gallery whose rows lie on several servers: its partition of diml.items has parts by hash of the id,
-- which are foreign tables. The servers do not commit at one moment, so the row of the gallery says
-- which rows count: ids below next_id that are not leaving. A change that is not committed here
-- leaves nothing that a reader sees.

ALTER TABLE diml.galleries
  ADD COLUMN shards integer NOT NULL DEFAULT 0,         -- 0: the rows are in this database
  ADD COLUMN leaving bigint[] NOT NULL DEFAULT '{}';    -- removed; the next change deletes their rows

-- How many candidates a walk through the index keeps (hnsw.ef_search), found by measuring.
ALTER TABLE diml.indexes ADD COLUMN effort integer NOT NULL DEFAULT 0;

-- On the server of a shard: the table for its rows. That no two items have one path is seen to where
-- the gallery is.
CREATE FUNCTION diml.make_shard(birth bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  part text := 'shard_' || birth;
BEGIN
  EXECUTE format('CREATE TABLE diml.%I (LIKE diml.items INCLUDING ALL, PRIMARY KEY (id))', part);
  EXECUTE format('CREATE INDEX %I ON diml.%I (sha256(path))', part || '_path', part);
END $$;

-- Where the gallery is: makes room for that many shards. The gallery is empty.
CREATE FUNCTION diml.lay_over(gallery integer, shards integer) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  part text := 'items_' || gallery;
BEGIN
  EXECUTE format('DROP TABLE diml.%I', part);
  EXECUTE format('CREATE TABLE diml.%I PARTITION OF diml.items FOR VALUES IN (%s) PARTITION BY HASH (id)',
                 part, gallery);
  UPDATE diml.galleries AS g SET shards = lay_over.shards WHERE g.id = lay_over.gallery;
END $$;

-- What the tables with rows of galleries take, and their indexes of vectors: NULL where there is none
-- that is whole. The server of a gallery reads those of its shards, so that no other program needs to
-- reach them.
CREATE VIEW diml.sizes AS
  SELECT c.relname::text AS name, pg_total_relation_size(c.oid) AS bytes,
         (SELECT pg_relation_size(i.indexrelid) FROM pg_index AS i
           WHERE i.indexrelid = to_regclass('diml.' || c.relname || '_hnsw') AND i.indisvalid)
           AS index_bytes
    FROM pg_class AS c
   WHERE c.relnamespace = 'diml'::regnamespace AND c.relkind = 'r'
     AND c.relname ~ '^(items|shard)_[0-9]+$';

-- One of its shards. options, login: names and values of libpq's parameters, in turn.
CREATE FUNCTION diml.add_shard(gallery integer, birth bigint, shard integer, shards integer,
                               options text[], login text[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  server text := format('diml_%s_%s', gallery, shard);
  part text := format('items_%s_%s', gallery, shard);
  sizes text := format('sizes_%s_%s', gallery, shard);
  role text;
BEGIN
  EXECUTE format('CREATE SERVER %I FOREIGN DATA WRAPPER postgres_fdw OPTIONS (%s)', server,
                 diml.options_sql(options));
  EXECUTE format('CREATE USER MAPPING FOR PUBLIC SERVER %I OPTIONS (%s)', server,
                 diml.options_sql(login));
  EXECUTE format('CREATE FOREIGN TABLE diml.%I PARTITION OF diml.%I FOR VALUES WITH '
                 '(MODULUS %s, REMAINDER %s) SERVER %I OPTIONS (schema_name ''diml'', table_name %L)',
                 part, 'items_' || gallery, shards, shard, server, 'shard_' || birth);
  EXECUTE format('CREATE FOREIGN TABLE diml.%I (name text, bytes bigint, index_bytes bigint) SERVER %I '
                 'OPTIONS (schema_name ''diml'', table_name ''sizes'')', sizes, server);
  FOREACH role IN ARRAY ARRAY['diml_reader', 'diml_writer'] LOOP
    CONTINUE WHEN NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role);
    EXECUTE format('GRANT SELECT ON diml.%I, diml.%I TO %I', part, sizes, role);
  END LOOP;
END $$;

-- The effort of the indexes of its shards: a setting of the connections to them.
CREATE FUNCTION diml.set_effort(gallery integer, effort integer) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  server name;
  settings text;
BEGIN
  FOR server, settings IN
    SELECT s.srvname, substr(o, length('options=') + 1)
      FROM pg_foreign_server AS s, unnest(s.srvoptions) AS o
     WHERE s.srvname ~ format('^diml_%s_[0-9]+$', gallery) AND o LIKE 'options=%'
  LOOP
    EXECUTE format('ALTER SERVER %I OPTIONS (SET options %L)', server,
                   regexp_replace(settings, 'hnsw[.]ef_search=[0-9]+', 'hnsw.ef_search=' || effort));
  END LOOP;
END $$;

CREATE FUNCTION diml.options_sql(pairs text[]) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
  SELECT string_agg(format('%I %L', pairs[k], pairs[k + 1]), ', ' ORDER BY k)
    FROM generate_series(1, coalesce(array_length(pairs, 1), 0), 2) AS k
$$;

-- Each shard of a gallery: its foreign table, and how libpq reaches it, as far as this role may know.
CREATE FUNCTION diml.shards_of(gallery integer) RETURNS TABLE (part text, reached text)
LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
  SELECT c.relname::text,
         (SELECT string_agg(format('%s=''%s''', split_part(o, '=', 1),
                                   replace(replace(substr(o, strpos(o, '=') + 1), '\', '\\'),
                                           '''', '\''')), ' ')
            FROM unnest(s.srvoptions || coalesce(m.umoptions, '{}')) AS o
           WHERE split_part(o, '=', 1) <> ALL (ARRAY['use_remote_estimate', 'fetch_size', 'batch_size',
                                                     'extensions', 'async_capable',
                                                     'password_required']))
    FROM pg_inherits AS i
    JOIN pg_class AS c ON c.oid = i.inhrelid
    JOIN pg_foreign_table AS t ON t.ftrelid = c.oid
    JOIN pg_foreign_server AS s ON s.oid = t.ftserver
    LEFT JOIN pg_user_mappings AS m ON m.srvid = s.oid AND m.umuser = 0
   WHERE i.inhparent = to_regclass('diml.items_' || gallery)
   ORDER BY s.srvname COLLATE "C"
$$;

-- With everything in it but the tables of its shards. It waits for those who read.
CREATE OR REPLACE FUNCTION diml.drop_gallery(name text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  gone integer;
  parts integer;
BEGIN
  DELETE FROM diml.galleries AS g WHERE g.name = $1 RETURNING g.id, g.shards INTO gone, parts;
  IF gone IS NULL THEN RETURN false; END IF;
  EXECUTE format('DROP TABLE IF EXISTS diml.%I', 'items_' || gone);
  FOR shard IN 0 .. parts - 1 LOOP
    EXECUTE format('DROP SERVER IF EXISTS %I CASCADE', format('diml_%s_%s', gone, shard));
  END LOOP;
  RETURN true;
END $$;

REVOKE ALL ON FUNCTION diml.make_shard, diml.lay_over, diml.add_shard, diml.set_effort FROM PUBLIC;

DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'diml_reader') THEN
    GRANT SELECT ON diml.sizes TO diml_reader;
  END IF;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'diml_writer') THEN
    GRANT SELECT ON diml.sizes TO diml_writer;
    GRANT UPDATE (leaving) ON diml.galleries TO diml_writer;
  END IF;
END $$;
