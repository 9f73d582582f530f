import type { ClientBase } from 'pg';

const CHUNK = 20_000;

interface Texts {
  id: bigint;
  text: string;
}

/** Reads all live listings and counts those that contain each word in title, tags, seller, description or preview. */
export async function countWords(client: ClientBase, words: readonly string[]): Promise<Map<string, number>> {
  const counts = new Map(words.map((word) => [word, 0]));
  for (let after = 0n; ; ) {
    const { rows } = await client.query<Texts>(
      `select l.id, concat_ws(' ', l.title, array_to_string(l.tags, ' '), m.handle, l.description, l.preview) as text
       from listings l join merchants m on m.id = l.merchant_id
       where l.state = 'live' and l.id > $1 order by l.id limit ${CHUNK}`,
      [after],
    );
    for (const { text } of rows) {
      const folded = foldText(text);
      for (const [word, count] of counts) if (holdsWord(folded, word)) counts.set(word, count + 1);
    }
    const last = rows.at(-1);
    if (last === undefined) return counts;
    after = last.id;
  }
}

function foldText(text: string): string {
  return text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
}

/** Matches whole words, which have no letter or digit next to them. */
function holdsWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    if (!isInWord(text.charAt(at - 1)) && !isInWord(text.charAt(at + word.length))) return true;
  }
  return false;
}

function isInWord(character: string): boolean {
  return /[\p{L}\p{N}]/u.test(character);
}
