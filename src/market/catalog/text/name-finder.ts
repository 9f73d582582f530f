import { NAMES } from './abbreviations.ts';

/** A name that ends with the current word: its short form, and the number of words that it has. */
export interface EndedName {
  readonly short: string;
  readonly words: number;
}

/** A node of the tree of names: the words that may follow, and the name that ends here. */
interface NameNode {
  readonly next: Map<string, NameNode>;
  name: EndedName | null;
}

const ROOT: NameNode = { next: new Map(), name: null };
/** Marks the first letter and length of all words that begin a name, because most words of a text begin none. */
const BEGINS = new Uint8Array(128 * 32);

for (const [short, ...wholes] of NAMES) {
  for (const whole of wholes) {
    const words = whole.split(' ');
    let node = ROOT;
    for (const word of words) {
      const next = node.next.get(word) ?? { next: new Map(), name: null };
      node.next.set(word, next);
      node = next;
    }
    node.name = { short, words: words.length };
  }
}
for (const word of ROOT.next.keys()) BEGINS[beginSlot(word.charCodeAt(0), word.length)] = 1;

function beginSlot(first: number, length: number): number {
  return first * 32 + Math.min(length, 31);
}

/** Finds names of several words, such as `front end`, in a text that is read word by word. */
export interface NameFinder {
  /** Names begun by the words before the current one. */
  open: NameNode[];
}

export function createNameFinder(): NameFinder {
  return { open: [] };
}

/** Returns whether a word can begin or continue a name. If not, `readNameWord` need not be called, and names end. */
export function mayBeNameWord(finder: NameFinder, first: number, length: number): boolean {
  return finder.open.length > 0 || (first < 128 && BEGINS[beginSlot(first, length)] === 1);
}

/** Reads the next word. Returns the names that end with it. */
export function readNameWord(finder: NameFinder, word: string): readonly EndedName[] {
  const ended: EndedName[] = [];
  const open: NameNode[] = [];
  for (const node of [...finder.open, ROOT]) {
    const next = node.next.get(word);
    if (next === undefined) continue;
    if (next.name !== null) ended.push(next.name);
    if (next.next.size > 0) open.push(next);
  }
  finder.open = open;
  return ended;
}

export function endNames(finder: NameFinder): void {
  if (finder.open.length > 0) finder.open = [];
}
