/** Letters of other alphabets that are drawn like Latin ones, which is how words are hidden from those who look for them. */
const LOOK_ALIKES = new Map(
  Object.entries({
    а: 'a',
    α: 'a',
    ɑ: 'a',
    с: 'c',
    ϲ: 'c',
    ԁ: 'd',
    е: 'e',
    ε: 'e',
    ɡ: 'g',
    һ: 'h',
    і: 'i',
    ι: 'i',
    ı: 'i',
    ј: 'j',
    κ: 'k',
    ո: 'n',
    о: 'o',
    ο: 'o',
    օ: 'o',
    р: 'p',
    ρ: 'p',
    ѕ: 's',
    τ: 't',
    υ: 'u',
    ս: 'u',
    ν: 'v',
    ѵ: 'v',
    ԝ: 'w',
    х: 'x',
    χ: 'x',
    у: 'y',
  }),
);

export interface FoldedText {
  /** Compatibility forms and marks folded, lower case; signs and lines as they are. */
  folded: string;
  /** The same with letters that only look Latin made Latin. */
  latin: string;
  /** Its words, one space apart, with nothing between them. */
  words: string;
  /** Its words with a bar where a sentence or a paragraph ends. */
  sentences: string;
}

/** Each step looks at each character once. */
export function foldText(text: string): FoldedText {
  const folded = text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase().replaceAll('\r\n', '\n');
  const latin = folded.replace(/[^\p{ASCII}]/gu, (letter) => LOOK_ALIKES.get(letter) ?? letter);
  // A name that begins with a dot is a word of its own.
  const named = latin.replace(/['’`]/g, '').replace(/\.env\b/g, ' dotenv ');
  // Of several marks in a row the last one ends the sentence: to look for it from each of them would take the square of their number.
  const sentences = named.replace(/\n\s{0,9}\n|[.!?;:](?=\s|$)|[|\p{Pd}](?=\s)|。/gu, ' | ');
  return { folded, latin, words: wordsOf(named), sentences: wordsOf(sentences) };
}

function wordsOf(text: string): string {
  return ` ${text.replace(/[^\p{L}\p{N}|]+/gu, ' ').trim()} `;
}
