import sql, { type Sql } from "sql-template-tag";

const firstNames = [
  "Ada", "Agnes", "Akira", "Alma", "Amir", "Anton", "Astrid", "Bela", "Bruno", "Carmen", "Chiara", "Clara", "Dario",
  "Edda", "Elif", "Émile", "Eva", "Felix", "Femke", "Greta", "Hana", "Hugo", "Ines", "Ivo", "Jana", "Jonas", "José",
  "Kaito", "Karim", "Lena", "Lior", "Luca", "Maëlle", "Marta", "Mei", "Milan", "Nadia", "Nils", "Noor", "Olga", "Omar",
  "Paula", "Pia", "Quentin", "Rania", "Rosa", "Sami", "Selma", "Søren", "Tamar", "Teo", "Ulla", "Vera", "Viktor",
  "Wanda", "Xenia", "Yara", "Yuki", "Zoë", "Zoran",
]; // biome-ignore format: names in rows
const syllables = [
  "an", "bar", "bel", "ber", "bo", "cal", "car", "da", "del", "den", "dor", "el", "en", "fa", "fel", "gan", "gar", "gor",
  "ha", "hel", "in", "ka", "kel", "kor", "la", "len", "lo", "ma", "mel", "mir", "na", "nor", "or", "pe", "ra", "ri", "ro",
  "sa", "sel", "so", "ta", "tel", "tor", "va", "vel", "wen", "wil", "ya", "za", "zor",
]; // biome-ignore format: syllables in rows

const beginnings = syllables.map((each) => each.charAt(0).toUpperCase() + each.slice(1));

const nth = (words: readonly string[], number: Sql) => sql`(${words}::text[])[1 + ${number} % ${words.length}]`;

/** One of a few first names for each number. */
export const firstName = (number: Sql): Sql => nth(firstNames, number);

/** Four syllables. None of them begins another, so numbers below 50 to the power of 4 have a word each. */
export const word = (number: Sql): Sql => sql`(
  ${nth(beginnings, number)}
  || ${nth(syllables, sql`${number} / ${syllables.length}`)}
  || ${nth(syllables, sql`${number} / ${syllables.length ** 2}`)}
  || ${nth(syllables, sql`${number} / ${syllables.length ** 3}`)}
)`;
