/** What happens, as it is told. In JSON each is one line. */
export type Told =
  | { kind: 'title'; text: string }
  | { kind: 'part'; name: string; url: string; detail: string; seconds: number }
  | { kind: 'step'; number: number; of: number; name: string; title: string }
  /** On its way; only a terminal shows it. */
  | { kind: 'asking'; method: string; path: string; sent: string[] }
  | { kind: 'request'; method: string; path: string; sent: string[]; status: number; word: string }
  | { kind: 'waiting'; text: string }
  | { kind: 'held'; text: string }
  | { kind: 'meaning'; text: string }
  | { kind: 'broken'; step: string; text: string }
  | { kind: 'places'; title: string; places: { name: string; what: string }[] }
  | { kind: 'end'; ok: boolean; text: string; seconds: number };

export type Tell = (told: Told) => void;

export interface TellOptions {
  stream: { write(text: string): unknown; isTTY?: boolean };
  json: boolean;
  /** Null: on a terminal that does not ask for none. */
  colour: boolean | null;
}

export function createTell({ stream, json, colour }: TellOptions): Tell {
  if (json) return (told) => told.kind !== 'asking' && void stream.write(`${JSON.stringify(told)}\n`);
  const terminal = stream.isTTY === true;
  const paint = (colour ?? terminal) ? inColour : plain;
  let unfinished = false;
  return (told) => {
    const passing = told.kind === 'asking' || told.kind === 'waiting';
    if (told.kind === 'asking' && !terminal) return;
    const line = lineOf(told, paint);
    // On a terminal what passes is written over by what comes next.
    stream.write(`${unfinished ? '\r\u001b[K' : ''}${line}${passing && terminal ? '' : '\n'}`);
    unfinished = passing && terminal;
  };
}

type Style = 'bold' | 'dim' | 'green' | 'red' | 'yellow' | 'cyan';
type Paint = (style: Style, text: string) => string;

const CODES: Record<Style, number> = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 };
const inColour: Paint = (style, text) => `\u001b[${CODES[style]}m${text}\u001b[0m`;
const plain: Paint = (_style, text) => text;

const NAME_COLUMNS = 13;
const REQUEST_COLUMNS = 62;

function lineOf(told: Told, paint: Paint): string {
  switch (told.kind) {
    case 'title':
      return paint('bold', told.text);
    case 'part': {
      const took = paint('dim', `(${told.seconds.toFixed(1)} s)`);
      return `  ${told.name.padEnd(NAME_COLUMNS)}${paint('cyan', told.url)}  ${told.detail} ${took}`;
    }
    case 'step':
      return `\n${paint('bold', `${told.number}/${told.of}  ${told.title}`)}`;
    case 'asking':
      return `  ${requestText(told)} ...`;
    case 'request':
      return `  ${requestText(told).padEnd(REQUEST_COLUMNS)} ${paint(statusStyle(told.status), String(told.status))} ${told.word}`.trimEnd();
    case 'waiting':
      return paint('dim', `    ... ${told.text}`);
    case 'held':
      return `    ${paint('green', 'ok')}  ${told.text}`;
    case 'meaning':
      return `  ${told.text}`;
    case 'broken':
      return `    ${paint('red', 'NOT SO')}  ${told.text}`;
    case 'places':
      return [`\n${paint('bold', told.title)}`, ...told.places.map((place) => placeText(place, paint))].join('\n');
    case 'end':
      return `\n${paint(told.ok ? 'green' : 'red', `${told.text} (${told.seconds.toFixed(1)} s)`)}`;
  }
}

function requestText({ method, path, sent }: { method: string; path: string; sent: string[] }): string {
  return [`${method} ${path}`, ...sent].join('  ');
}

function placeText({ name, what }: { name: string; what: string }, paint: Paint): string {
  return `  ${name.padEnd(NAME_COLUMNS)}${paint('cyan', what)}`;
}

function statusStyle(status: number): Style {
  if (status < 300) return status === 202 ? 'yellow' : 'green';
  return status === 402 ? 'yellow' : 'red';
}
