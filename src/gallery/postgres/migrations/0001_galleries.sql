-- Galleries, in the schema `diml` of any database in UTF-8.
--
-- Texts from outside that need not be UTF-8 (paths, labels) are bytea: they compare byte by byte, as
-- everywhere in diml. The view diml.readable_items shows them as text.

CREATE SCHEMA diml;

CREATE TABLE diml.migrations (
  version integer PRIMARY KEY,
  name text NOT NULL,
  applied timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE diml.galleries (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL UNIQUE,
  birth bigint NOT NULL,            -- no other gallery has the same
  cells_per_grid integer NOT NULL CHECK (cells_per_grid > 0),
  dim integer NOT NULL CHECK (dim > 0),
  cell_type text NOT NULL CHECK (cell_type IN ('float16', 'float32', 'bfloat16')),
  embedding json NOT NULL,          -- how images became grids, in words
  model text NOT NULL,              -- the path of the model
  -- A writer locks this row: changes of a gallery come one after the other, and ids ascend in the
  -- order of the revisions.
  revision bigint NOT NULL DEFAULT 0,
  next_id bigint NOT NULL DEFAULT 0,  -- ids are never used again
  items bigint NOT NULL DEFAULT 0,
  made timestamptz NOT NULL DEFAULT now()
);

-- One partition for each gallery, made by diml.make_gallery(). Unique are id and path of each; the
-- constraints are those of the partitions, so that a partition may lie on other servers.
CREATE TABLE diml.items (
  gallery integer NOT NULL,
  id bigint NOT NULL,
  path bytea NOT NULL,
  label bytea NOT NULL,             -- empty: none
  -- The metadata for conditions. In its texts U+0000, which jsonb cannot hold, is U+0001 U+0001, and
  -- U+0001 is U+0001 U+0002.
  metadata jsonb NOT NULL,
  metadata_text text NOT NULL,      -- the metadata as it was given, letter by letter
  source_size bigint,               -- of the file that the item was made of
  source_modified bigint,           -- nanoseconds since 1970
  source_sha256 text,
  global real[] NOT NULL,           -- the global vector
  cells bytea NOT NULL,             -- the grid: cells_per_grid x dim numbers of cell_type, little-endian
  thumbnail bytea NOT NULL,         -- JPEG; empty: none
  -- Compared whenever the row is used (src/gallery/checksum.h), each over the id and: path, label,
  -- metadata_text and source; label and global; cells; thumbnail.
  words_checksum bigint NOT NULL,
  vector_checksum bigint NOT NULL,
  cells_checksum bigint NOT NULL,
  thumbnail_checksum bigint NOT NULL
) PARTITION BY LIST (gallery);

-- Numbers and photos do not become smaller.
ALTER TABLE diml.items ALTER COLUMN cells SET STORAGE EXTERNAL;
ALTER TABLE diml.items ALTER COLUMN thumbnail SET STORAGE EXTERNAL;
ALTER TABLE diml.items ALTER COLUMN global SET STORAGE MAIN;

-- What each revision changed; those of long ago are forgotten.
CREATE TABLE diml.changes (
  gallery integer NOT NULL REFERENCES diml.galleries ON DELETE CASCADE,
  revision bigint NOT NULL,
  first_new_id bigint NOT NULL,
  count bigint NOT NULL,            -- of new items
  removed bigint[] NOT NULL,
  updated bigint[] NOT NULL,
  -- Of the call that made the change: a call whose acknowledgement was lost finds it here.
  call text NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (gallery, revision)
);
CREATE INDEX changes_by_call ON diml.changes (gallery, call);

-- Indexes of vectors that were made, and what they find of the exact neighbours, by depth.
CREATE TABLE diml.indexes (
  gallery integer PRIMARY KEY REFERENCES diml.galleries ON DELETE CASCADE,
  kind text NOT NULL,
  items bigint NOT NULL,
  recall jsonb NOT NULL,
  seconds double precision NOT NULL,
  made timestamptz NOT NULL DEFAULT now()
);

CREATE FUNCTION diml.make_gallery(name text, birth bigint, cells_per_grid integer, dim integer,
                                  cell_type text, embedding text, model text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  made integer;
  part text;
BEGIN
  INSERT INTO diml.galleries (name, birth, cells_per_grid, dim, cell_type, embedding, model)
    VALUES ($1, $2, $3, $4, $5, $6::json, $7) RETURNING id INTO made;
  part := 'items_' || made;
  -- Attached, not made in place: that would wait for whoever reads another gallery.
  EXECUTE format('CREATE TABLE diml.%I (LIKE diml.items INCLUDING ALL, '
                 'CONSTRAINT of_gallery CHECK (gallery = %s))', part, made);
  EXECUTE format('ALTER TABLE diml.%I ADD PRIMARY KEY (id)', part);
  EXECUTE format('CREATE UNIQUE INDEX %I ON diml.%I (sha256(path))', part || '_path', part);
  EXECUTE format('ALTER TABLE diml.items ATTACH PARTITION diml.%I FOR VALUES IN (%s)', part, made);
  EXECUTE format('ALTER TABLE diml.%I DROP CONSTRAINT of_gallery', part);
  RETURN made;
END $$;

-- With everything in it. It waits for those who read.
CREATE FUNCTION diml.drop_gallery(name text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  gone integer;
BEGIN
  DELETE FROM diml.galleries AS g WHERE g.name = $1 RETURNING g.id INTO gone;
  IF gone IS NULL THEN RETURN false; END IF;
  EXECUTE format('DROP TABLE IF EXISTS diml.%I', 'items_' || gone);
  RETURN true;
END $$;

REVOKE ALL ON FUNCTION diml.make_gallery, diml.drop_gallery FROM PUBLIC;

-- The number that a whole text is, NULL where it is none or has more than 1000 letters: an integer of 64 bits exactly, otherwise
-- the double that is nearest to it, exactly where it is an integer of 64 bits.
CREATE FUNCTION diml.number_in(text_bytes bytea) RETURNS numeric
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog
SET extra_float_digits = 1 AS $$
DECLARE
  -- The double after the largest, halfway; half of the smallest.
  too_large constant numeric :=
    179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017977587207096330286416692887910946555547851940402630657488671505820681908902000708383676273854845817711531764475730270069855571366959622842914819860834936475292719074168444365510704342711559699508093042880177904174497792;
  too_small constant numeric := 2.4703282292062327208e-324;
  word text := encode(text_bytes, 'escape');
  exact numeric;
  near double precision;
BEGIN
  IF length(text_bytes) > 1000 THEN RETURN NULL; END IF;
  IF word ~ '^-?(0+[.]?0*|[.]0+)([eE][+-]?[0-9]+)?$' THEN RETURN 0; END IF;
  IF word !~ '^-?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?0*[0-9]{1,4})?$' THEN RETURN NULL; END IF;
  exact := word::numeric;
  IF word ~ '^-?[0-9]+$' AND (exact BETWEEN -9223372036854775808 AND 9223372036854775807
                              OR exact BETWEEN 0 AND 18446744073709551615) THEN
    RETURN exact;
  END IF;
  IF abs(exact) >= too_large OR (exact <> 0 AND abs(exact) <= too_small) THEN RETURN NULL; END IF;
  near := word::double precision;
  IF near BETWEEN 9007199254740992 AND 9223372036854774784
     OR near BETWEEN -9223372036854775808 AND -9007199254740992 THEN
    RETURN near::bigint::numeric;
  ELSIF near BETWEEN 9223372036854775808 AND 18446744073709549568 THEN
    RETURN (near - 9223372036854775808)::bigint::numeric + 9223372036854775808;
  END IF;
  RETURN near::text::numeric;
END $$;

-- The value of a key of the metadata; NULL where it is missing or null. A key may itself have dots,
-- so that the longest that is there counts first.
CREATE FUNCTION diml.value_at(metadata jsonb, key text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog AS $$
DECLARE
  place integer := length(key);
  found jsonb;
BEGIN
  IF key = '' OR jsonb_typeof(metadata) <> 'object' THEN RETURN NULL; END IF;
  IF metadata ? key THEN RETURN nullif(metadata -> key, 'null'); END IF;
  WHILE place > 1 LOOP
    place := place - 1;
    IF substr(key, place + 1, 1) = '.' AND metadata ? left(key, place) THEN
      found := diml.value_at(metadata -> left(key, place), substr(key, place + 2));
      IF found IS NOT NULL THEN RETURN found; END IF;
    END IF;
  END LOOP;
  RETURN NULL;
END $$;

-- Bytes as a text in which each is one letter, with A to Z as a to z: to look for a part of a path.
CREATE FUNCTION diml.folded(bytes bytea) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog AS $$
DECLARE
  letters text;
BEGIN
  IF position('\x00'::bytea IN bytes) = 0 THEN
    letters := convert_from(bytes, 'LATIN1');
  ELSE
    -- No text has U+0000.
    SELECT string_agg(chr(CASE get_byte(bytes, at) WHEN 0 THEN 256 ELSE get_byte(bytes, at) END),
                      '' ORDER BY at)
      INTO letters FROM generate_series(0, length(bytes) - 1) AS at;
  END IF;
  RETURN lower(letters COLLATE "C");
END $$;

CREATE FUNCTION diml.readable(bytes bytea) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT SET search_path = pg_catalog AS $$
BEGIN
  RETURN convert_from(bytes, 'UTF8');
EXCEPTION WHEN OTHERS THEN
  RETURN encode(bytes, 'escape');
END $$;

-- For people.
CREATE VIEW diml.readable_items AS
  SELECT g.name AS gallery, i.id, diml.readable(i.path) AS path,
         nullif(diml.readable(i.label), '') AS label, i.metadata,
         octet_length(i.cells) AS grid_bytes, octet_length(i.thumbnail) AS thumbnail_bytes
    FROM diml.items AS i JOIN diml.galleries AS g ON g.id = i.gallery;
