import { startThread } from '../../../platform/start-thread.ts';
import { LIVE, type Model } from '../model/model.ts';
import type { TextsRead, TextsToRead } from '../text/read-elsewhere.ts';
import { createWordsElsewhere, learnWords, type WordsElsewhere } from '../text/words-elsewhere.ts';

/** Listings in one question; about 15 milliseconds of work. */
const ASKED_AT_ONCE = 500;
/** So that the thread never waits for this one. */
const QUESTIONS_AHEAD = 3;

/** Listings whose words a thread has found. */
export interface ReadTexts {
  /** They are those above this id, */
  above: number;
  /** and up to this one. */
  upTo: number;
  tokens: Uint32Array;
  ends: Uint32Array;
  /** Of the fragments that were read; 0 where there was nothing to be read. */
  versions: Uint32Array;
  words: WordsElsewhere;
}

export interface ReadAhead {
  /** The next listings in order, as soon as their JSON is there. Null when there are no more. */
  next(): Promise<ReadTexts | null>;
  stop(): Promise<void>;
}

/** Has a thread find the words of all live listings that are not in the text index yet, somewhat ahead of the index. */
export function readAhead(model: Model): ReadAhead {
  const thread = startThread<TextsToRead, TextsRead>(new URL('../text/reader-thread.ts', import.meta.url));
  const words = createWordsElsewhere();
  const asked: Promise<ReadTexts>[] = [];
  let above = model.textUpTo;

  async function ask(): Promise<ReadTexts> {
    const given = textsAbove(model, above);
    above = given.upTo;
    const { bytes, ends } = given;
    const read = await thread.ask({ bytes, ends }, [bytes.buffer, ends.buffer]);
    learnWords(words, read.newWords);
    return { ...given, tokens: read.tokens, ends: read.ends, words };
  }

  return {
    next: async () => {
      if (asked.length === 0 && above < model.newestId) await model.filling.past(above);
      while (asked.length < QUESTIONS_AHEAD && above < Math.min(model.newestId, model.filling.upTo())) {
        const asking = ask();
        // It may not be waited for any more when it fails.
        asking.catch(() => {});
        asked.push(asking);
      }
      return (await asked.shift()) ?? null;
    },
    stop: () => thread.stop(),
  };
}

function textsAbove(model: Model, above: number) {
  const { columns, fragments } = model;
  const upTo = Math.min(above + ASKED_AT_ONCE, model.newestId, model.filling.upTo());
  const ends = new Uint32Array(upTo - above);
  const versions = new Uint32Array(upTo - above);
  let end = 0;
  for (let at = 0; at < ends.length; at += 1) {
    const id = above + 1 + at;
    if (columns.state[id] === LIVE && fragments.held(id)) {
      end += fragments.size(id);
      versions[at] = fragments.version(id);
    }
    ends[at] = end;
  }
  const bytes = new Uint8Array(end);
  let from = 0;
  for (let at = 0; at < ends.length; at += 1) {
    if (versions[at] !== 0) fragments.copy(above + 1 + at, bytes, from);
    from = ends[at] as number;
  }
  return { above, upTo, bytes, ends, versions };
}
