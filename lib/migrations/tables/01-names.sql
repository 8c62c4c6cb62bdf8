-- Joiners and variation selectors, which are invisible. Names compare and are found without them.
create function without_joiners(value text) returns text
  language sql immutable strict parallel safe
  return regexp_replace(
    value, '[\u180b-\u180f\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef]', '', 'g'
  );

-- Names order by this key: no case, no accents, single spaces. It uses PostgreSQL's own Unicode tables and
-- the collation "C", so that every machine has the same order, whatever its locale.
-- PL/pgSQL keeps the plans of its expressions, as long as the search path stays the same, whereas PostgreSQL reads the
-- body of an SQL function again for each statement that stores or indexes its result. Most names are plain ASCII and
-- need no normalization: they have as many characters as bytes.
create function name_key(value text) returns text
  language plpgsql immutable strict parallel safe
  set search_path = public, pg_temp
  as $$
    begin
      if octet_length(value) > length(value) then
        value = regexp_replace(normalize(without_joiners(value), nfkd), '[\u0300-\u036f]', '', 'g');
        value = translate(casefold(value collate pg_unicode_fast), 'øłđħıð', 'oldhid');
        value = replace(replace(value, 'æ', 'ae'), 'œ', 'oe');
      else
        value = lower(value collate "C");
      end if;
      return btrim(regexp_replace(value collate "C", '\s+', ' ', 'g'));
    end
  $$;

-- Names are searched by this key: compatibility forms and case are folded, accents of Latin, Greek and Cyrillic and
-- points of Hebrew and Arabic are removed, and so are invisible characters; letters of the Arabic script that are typed
-- for one another are one letter, as are hiragana and katakana; ligatures of Yiddish are two letters, and so is the
-- Armenian ew, whose capitals most people write as EV; digits of all scripts with which people count are ours. Only
-- letters, marks and digits remain, without blanks. A name that has none of these is its own key. Vowels of Indic
-- scripts and the voicing of kana are marks that remain.
create function search_key(value text) returns text
  language plpgsql immutable strict parallel safe
  set search_path = public, pg_temp
  as $$
    declare
      folded text;
      key text;
    begin
      if octet_length(value) = length(value) then
        folded = lower(value collate "C");
        key = regexp_replace(folded collate "C", '[^a-z0-9]', '', 'g');
      else
        folded = regexp_replace(
          value collate "C",
          '[\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f'
          '\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd'
          '\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]',
          '', 'g'
        );
        folded = regexp_replace(
          normalize(folded, nfkd) collate "C",
          '[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f\u0483-\u0489\ua66f-\ua672'
          '\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7'
          '\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0897-\u089f\u08ca-\u08e1\u08e3-\u08ff]',
          '', 'g'
        );
        folded = translate(casefold(folded collate pg_unicode_fast), 'øłđħıðŧ', 'oldhidt');
        folded = replace(replace(replace(folded, 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th');
        folded = replace(replace(replace(folded, 'װ', 'וו'), 'ױ', 'וי'), 'ײ', 'יי');
        folded = replace(folded, 'եւ', 'եվ');
        if folded collate "C" ~ '[\u0600-\u06ff]' then
          folded = translate(
            folded, U&'\0649\06CC\06D0\06A9\0629\06D5\06C1\06BE\06C0\06C2\06C3\0671',
            U&'\064A\064A\064A\0643\0647\0647\0647\0647\0647\0647\0647\0627'
          );
        end if;
        if folded collate "C" ~ '[\u3041-\u3096\u309d]' then
          folded = translate(
            folded,
            'ぁあぃいぅうぇえぉおかきくけこさしすせそたちっつてとなにぬねのはひふへほまみむめもゃやゅゆょよらりるれろゎわゐゑをんゕゖゝ',
            'ァアィイゥウェエォオカキクケコサシスセソタチッツテトナニヌネノハヒフヘホマミムメモャヤュユョヨラリルレロヮワヰヱヲンヵヶヽ'
          );
        end if;
        if folded collate pg_unicode_fast ~ '[[:digit:]]' then
          folded = translate(
            folded,
            '٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹०१२३४५६७८९০১২৩৪৫৬৭৮৯੦੧੨੩੪੫੬੭੮੯૦૧૨૩૪૫૬૭૮૯'
            '୦୧୨୩୪୫୬୭୮୯௦௧௨௩௪௫௬௭௮௯౦౧౨౩౪౫౬౭౮౯೦೧೨೩೪೫೬೭೮೯൦൧൨൩൪൫൬൭൮൯๐๑๒๓๔๕๖๗๘๙'
            '໐໑໒໓໔໕໖໗໘໙༠༡༢༣༤༥༦༧༨༩၀၁၂၃၄၅၆၇၈၉០១២៣៤៥៦៧៨៩᠐᠑᠒᠓᠔᠕᠖᠗᠘᠙',
            repeat('0123456789', 17)
          );
        end if;
        folded = normalize(folded, nfkc);
        -- Of signs this collation has symbols, too. Some apostrophes are letters.
        key = regexp_replace(
          folded collate pg_c_utf8,
          '[[:punct:][:space:][:cntrl:]\u02b9-\u02bf\u02c8\u02ca\u02cb\u07f4\u07f5\ua78b\ua78c]', '', 'g'
        );
      end if;
      if key <> '' then
        return key;
      end if;
      folded = regexp_replace(folded collate pg_c_utf8, '\s+', '', 'g');
      return case when folded <> '' then folded else regexp_replace(value collate pg_c_utf8, '\s+', '', 'g') end;
    end
  $$;

-- Names are sorted by this key, and listed by its first character: the letter with which their search key begins, or #
-- for anything else. Behind it come the search keys of their words. A comma separates what comes first, such as the last
-- name, and sorts before the blanks and signs between words; apostrophes, and signs in front, do not count. Before a
-- number stands its length, so that 2 comes before 10. A row of a B-tree has room for 255 characters. Most names are
-- plain ASCII, for which three regular expressions do the same as the query.
create function sort_key(value text) returns text
  language plpgsql immutable strict parallel safe
  set search_path = public, pg_temp
  as $$
    declare
      key text;
    begin
      if octet_length(value) = length(value) then
        key = regexp_replace(translate(lower(value collate "C"), '''`', ''), '[^a-z0-9,]+', '-', 'g');
        key = nullif(btrim(regexp_replace(key collate "C", '-*,[-,]*', ' ', 'g'), '- '), '');
      else
        key = (
          select string_agg(words, ' ' order by position)
          from
            regexp_split_to_table(
              translate(value, U&'\0027\0060\00B4\055A\05F3\2018\2019\201B\2032\2035\FF07', '') collate "C",
              '[,\u060c\u3001\uff0c\ufe50\ufe51\uff64]'
            ) with ordinality as parts (part, position)
            cross join lateral (
              select string_agg(search_key(word), '-' order by position)
              from
                regexp_split_to_table(part collate pg_c_utf8, '[[:punct:][:space:]]+')
                  with ordinality as split (word, position)
              where word <> ''
            ) as joined (words)
        );
      end if;
      if key collate "C" ~ '[0-9]' then
        key = (
          select string_agg(
            case when part[1] <> '' then lpad(cast(length(part[1]) as text), 3, '0') || part[1] else part[2] end,
            '' order by position
          )
          from regexp_matches(key collate "C", '0*([0-9]+)|([^0-9]+)', 'g') with ordinality as parts (part, position)
        );
      end if;
      key = coalesce(key, search_key(value));
      return left(
        case
          when key collate pg_c_utf8 ~ '^[[:alpha:]]' then initcap(left(key, 1) collate pg_unicode_fast)
          else '#'
        end || ' ' || key,
        255
      );
    end
  $$;

-- What an index has of keys, which stand in a line each: all three neighbouring characters, and all two of which one is
-- beyond ASCII. A word of two letters of ASCII is in too many names: to read them takes longer than to compare all. The
-- extension pg_trgm knows letters by the cluster's locale, and in "C" only those of ASCII.
create function grams(keys text) returns text[]
  language plpgsql immutable strict parallel safe
  as $$
    declare
      result text[] = '{}';
      number integer = 0;
      key text;
      two text;
    begin
      foreach key in array string_to_array(keys, chr(10)) loop
        for position in 1 .. length(key) - 2 loop
          number = number + 1;
          result[number] = substr(key, position, 3);
        end loop;
        continue when octet_length(key) = length(key);
        for position in 1 .. length(key) - 1 loop
          two = substr(key, position, 2);
          continue when octet_length(two) = 2;
          number = number + 1;
          result[number] = two;
        end loop;
      end loop;
      return result collate "C";
    end
  $$;

-- What the index has of the words of a search, which blanks separate: as many threes as cover a word, or a two. The rows
-- are compared with the whole word anyway, and each further three would have to be read as well.
create function searched_grams(words text) returns text[]
  language plpgsql immutable strict parallel safe
  set search_path = public, pg_temp
  as $$
    declare
      result text[] = '{}';
      word text;
      key text;
    begin
      foreach word in array string_to_array(words, ' ') loop
        key = search_key(word);
        for position in 1 .. length(key) - 3 by 3 loop
          result = result || substr(key, position, 3);
        end loop;
        if length(key) > 2 or length(key) = 2 and octet_length(key) > 2 then
          result = result || right(key, 3);
        end if;
      end loop;
      return result collate "C";
    end
  $$;

-- What keys are like that contain the words of a search; %, _ and \ in a word are plain characters.
create function searched_patterns(words text) returns text[]
  language plpgsql immutable strict parallel safe
  set search_path = public, pg_temp
  as $$
    declare
      result text[] = '{}';
      word text;
    begin
      foreach word in array string_to_array(words, ' ') loop
        result = result || ('%' || regexp_replace(search_key(word), '([\\%_])', '\\\1', 'g') || '%');
      end loop;
      return result;
    end
  $$;

-- Search keys of a name and of aliases, a line each: the short ones, for which a row of a B-tree has room, or the long
-- ones, which are few; else null. Such a row has 2.7 kB, of which the longest name takes 2.3 kB. A name in ASCII is no
-- shorter than its key, so for most names it is known without their keys that these are not long.
create function search_keys(name text, alias_keys text, are_long boolean) returns text
  language plpgsql immutable strict parallel safe
  set search_path = public, pg_temp
  as $$
    declare
      short_bytes constant integer = 200;
      keys text;
    begin
      if are_long
        and octet_length(name) = length(name)
        and octet_length(name) + octet_length(alias_keys) < short_bytes
      then
        return null;
      end if;
      keys = search_key(name) || chr(10) || alias_keys;
      return case when (octet_length(keys) > short_bytes) = are_long then keys end;
    end
  $$;

-- Two names are the same name when these keys are equal: regardless of case, of joiners, of the number and kind of blanks
-- and those between initials, of the kind of apostrophe and of hyphen or dash, and of the width of a character.
-- Folding the case of a letter may take it apart, so it is composed afterwards.
create function identity_key(value text) returns text
  language plpgsql immutable parallel safe
  set search_path = public, pg_temp
  as $$
    begin
      if octet_length(value) > length(value) then
        value = without_joiners(value);
        if value collate "C" ~ '[\uff01-\uffee]' then
          value = (
            select string_agg(case when part[1] collate "C" ~ '[\uff01-\uffee]' then normalize(part[1], nfkc) else part[1] end, '')
            from regexp_matches(value collate "C", '[\uff01-\uffee]+|[^\uff01-\uffee]+', 'g') as part
          );
        end if;
        value = normalize(casefold(normalize(value, nfd) collate pg_unicode_fast), nfc);
        value = regexp_replace(
          value collate "C",
          '[\u0060\u00b4\u02b9-\u02bf\u02c8\u02ca\u02cb\u05f3\u055a\u07f4\u07f5\u2018-\u201b\u2032\u2035\ua78b\ua78c]',
          '''', 'g'
        );
        value = regexp_replace(
          value collate "C",
          '[\u058a\u05be\u1400\u1806\u2010-\u2015\u2043\u2212\u2e17\u2e1a\u2e3a\u2e3b\u2e40\u2e5d\u30a0\ufe31\ufe32\ufe58'
          '\ufe63\U00010ead]',
          '-', 'g'
        );
      else
        value = translate(lower(value collate "C"), '`', '''');
      end if;
      value = btrim(regexp_replace(coalesce(value, '') collate pg_unicode_fast, '\s+', ' ', 'g'));
      if position('. ' in value) > 0 then
        value = regexp_replace(value collate pg_unicode_fast, '\m([[:alpha:]]\.) (?=[[:alpha:]])', '\1', 'g');
      end if;
      return value;
    end
  $$;

-- Every user of the database may hold any advisory lock. So the locks of names have keys that cannot be guessed.
create table lock_secret (secret uuid not null);

insert into lock_secret values (gen_random_uuid());

-- Whether the transaction is a dry run of an import. It may have more names than PostgreSQL has locks, and would keep
-- other changes out for its whole time, so it takes neither these locks nor the one of all changes: it is rolled back, and
-- unique indexes do for it. Any login may set the parameter, so it counts only for operators.
create function is_rolled_back() returns boolean
  language sql stable
  return case
    when current_setting('colophon.is_rolled_back', true) = 'on'
    then pg_has_role(session_user, 'colophon_operator', 'usage')
    else false
  end;

-- Locks a name until the transaction ends. The view pg_locks shows the key to everybody, hence the one-way hash.
create function lock_name(name text) returns void
  language plpgsql
  as $$
    begin
      if is_rolled_back() then
        return;
      end if;
      perform pg_advisory_xact_lock(
        hashtextextended(encode(sha256(convert_to(secret || ' ' || name, 'UTF8')), 'hex'), 0)
      )
      from lock_secret;
    end
  $$;

-- Whether another record of this table has the slug, or had it: so no record gets a slug that finds another one. The
-- queries are static, and their plan is kept, since an import asks this for each record: a plan by index, even if the
-- tables were empty when it was made. A trigger passes the name of its table, whose collation is not that of the slugs'
-- indexes.
create function slug_exists(table_name text, requested text, own_id bigint) returns boolean
  language plpgsql stable
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  as $$
    declare
      requested_slug text collate "default" = requested;
    begin
      return case table_name
        when 'contributors' then
          exists (select from contributors where slug = requested_slug and id <> own_id)
          or exists (select from former_slugs where slug = requested_slug)
        when 'publishers' then exists (select from publishers where slug = requested_slug and id <> own_id)
        when 'series' then exists (select from series where slug = requested_slug and id <> own_id)
        when 'users' then exists (select from users where slug = requested_slug and id <> own_id)
      end;
    end
  $$;

-- Before an insert: the slug made from the name, or one with a number. The number is doubled until it is free, and then
-- halved towards one that is taken, so some thirty look-ups find it however many there are: the next one where they
-- have no gaps. If even all the powers of two are taken, any large number does. The lock is that of the name without
-- numbers at its end, for the slugs that are made of zz and of zz-2 meet in zz-2. A row that an import inserts to edit it
-- (on conflict) keeps its slug.
create function assign_slug() returns trigger
  language plpgsql
  as $$
    declare
      base text = new.slug;
      taken bigint = 1;
      free bigint = 2;
      middle bigint;
    begin
      perform lock_name(tg_table_name || '/' || regexp_replace(base, '(-[0-9]+)+$', ''));
      if not slug_exists(tg_table_name, base, new.id) then
        return new;
      end if;

      while slug_exists(tg_table_name, base || '-' || free, new.id) loop
        taken = free;
        free = case when taken < 1e17 then 2 * taken else 1e17 + floor(random() * 1e17) end;
      end loop;
      while free - taken > 1 loop
        middle = (taken + free) / 2;
        if slug_exists(tg_table_name, base || '-' || middle, new.id) then
          taken = middle;
        else
          free = middle;
        end if;
      end loop;
      new.slug = base || '-' || free;
      return new;
    end
  $$;

-- Adds a trigger for each of these events behind the statements of a table. Its function finds the rows in the
-- transition tables `removed` and `added`.
create procedure add_triggers(table_name text, prefix text, function text, events text[])
  language plpgsql
  as $$
    declare
      event text;
    begin
      foreach event in array events loop
        execute format(
          'create or replace trigger %I after %s on %I %s for each statement execute function %s',
          prefix || '_' || event, event, table_name,
          case event
            when 'insert' then 'referencing new table as added'
            when 'update' then 'referencing old table as removed new table as added'
            when 'delete' then 'referencing old table as removed'
          end,
          function
        );
      end loop;
    end
  $$;

-- Keeps the keys of aliases in the rows of the records that have them, after aliases were added, changed or removed. Each
-- table of aliases has a function of its own, so that PostgreSQL keeps its plans. Of two transactions that change aliases
-- of one record at once the second waits, and then sees what the first one wrote.
create procedure keep_alias_keys(table_name text, owner_table text, owner_column text, name_column text)
  language plpgsql as $procedure$
  declare
    function text = 'keep_alias_keys_of_' || owner_table;
  begin
    execute format(
      $format$
        create function %1$I() returns trigger language plpgsql
          set plan_cache_mode = force_generic_plan
          set enable_seqscan = off
          as $$
            declare
              ids bigint[] = '{}';
              keys text[];
            begin
              if tg_op <> 'INSERT' then
                ids = array(select %4$I from removed);
              end if;
              if tg_op <> 'DELETE' then
                ids = ids || array(select %4$I from added);
              end if;
              if ids = '{}' then
                return null;
              end if;
              perform from %3$I where id = any(ids) order by id for no key update;
              select array_agg(latest.id), array_agg(latest.keys) into ids, keys
              from
                (
                  select owner.id, coalesce(string_agg(search_key(%5$I), chr(10) order by alias.id), '') as keys
                  from (select distinct unnest(ids) as id) as owner left join %2$I as alias on alias.%4$I = owner.id
                  group by owner.id
                ) as latest
                join %3$I as record using (id)
              where record.alias_keys <> latest.keys;
              if ids is not null then
                update %3$I as record
                set alias_keys = latest.keys
                from unnest(ids, keys) as latest (id, keys)
                where record.id = latest.id;
              end if;
              return null;
            end
          $$
      $format$,
      function, table_name, owner_table, owner_column, name_column
    );
    call add_triggers(table_name, 'keep_alias_keys', function || '()', '{insert, update, delete}');
  end
$procedure$;

-- Notes when a record was changed, for every way by which it is.
create function note_change() returns trigger
  language plpgsql
  as $$
    begin
      new.changed_at = now();
      return new;
    end
  $$;

-- Notes when a record was changed whose elements lie in these tables, also when only they change. An update that leaves
-- a row as it was changes nothing. A record that has the transaction's time is not written again. The time stands in
-- `time_table`, by the record's id in `id_column`.
create procedure keep_changed_at(
  time_table text, id_column text, owner_column text, element_tables text[], events text[]
)
  language plpgsql as $procedure$
  declare
    element_table text;
    function text = 'note_change_of_' || owner_column;
  begin
    execute format(
      $format$
        create function %1$I() returns trigger language plpgsql
          set plan_cache_mode = force_generic_plan
          set enable_seqscan = off
          as $$
            declare
              ids bigint[] = '{}';
            begin
              if tg_op = 'INSERT' then
                ids = array(select %3$I from added);
              elsif tg_op = 'DELETE' then
                ids = array(select %3$I from removed);
              else
                ids = array(
                  select %3$I from (select * from added except select * from removed) as new
                  union
                  select %3$I from (select * from removed except select * from added) as old
                );
              end if;
              if ids = '{}' then
                return null;
              end if;
              perform from %2$I where %4$I = any(ids) and changed_at <> now() order by %4$I for no key update;
              if found then
                update %2$I set changed_at = now() where %4$I = any(ids) and changed_at <> now();
              end if;
              return null;
            end
          $$
      $format$,
      function, time_table, owner_column, id_column
    );
    foreach element_table in array element_tables loop
      call add_triggers(element_table, 'note_change', function || '()', events);
    end loop;
  end
$procedure$;
