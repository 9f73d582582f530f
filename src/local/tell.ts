/** An event of the demo. With --json, each event except `asking` is one line of output. */
export type DemoEvent =
  | { kind: 'title'; text: string }
  | { kind: 'part'; name: string; url: string; detail: string; seconds: number }
  | { kind: 'step'; number: number; of: number; name: string; title: string }
  /** A request without an answer yet. Only a terminal shows it. */
  | { kind: 'asking'; method: string; path: string; sent: string[] }
  | { kind: 'request'; method: string; path: string; sent: string[]; status: number; word: string }
  | { kind: 'waiting'; text: string }
  | { kind: 'held'; text: string }
  | { kind: 'meaning'; text: string }
  | { kind: 'broken'; step: string; text: string }
  | { kind: 'places'; title: string; places: { name: string; what: string }[] }
  | { kind: 'end'; ok: boolean; text: string; seconds: number };

export type EventPrinter = (event: DemoEvent) => void;

export interface EventPrinterOptions {
  stream: { write(text: string): unknown; isTTY?: boolean };
  json: boolean;
  /** Null for colour on a terminal only. */
  colour: boolean | null;
}

export function createEventPrinter({ stream, json, colour }: EventPrinterOptions): EventPrinter {
  if (json) return (event) => event.kind !== 'asking' && void stream.write(`${JSON.stringify(event)}\n`);
  const terminal = stream.isTTY === true;
  const paint = (colour ?? terminal) ? inColour : withoutColour;
  let isUnfinished = false;
  return (event) => {
    const isTransient = event.kind === 'asking' || event.kind === 'waiting';
    if (event.kind === 'asking' && !terminal) return;
    const line = formatLine(event, paint);
    // On a terminal the next line replaces a pending one.
    stream.write(`${isUnfinished ? '\r\u001b[K' : ''}${line}${isTransient && terminal ? '' : '\n'}`);
    isUnfinished = isTransient && terminal;
  };
}

type Style = 'bold' | 'dim' | 'green' | 'red' | 'yellow' | 'cyan';
type Paint = (style: Style, text: string) => string;

const CODES: Record<Style, number> = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 };
const inColour: Paint = (style, text) => `\u001b[${CODES[style]}m${text}\u001b[0m`;
const withoutColour: Paint = (_style, text) => text;

const NAME_COLUMNS = 13;
const REQUEST_COLUMNS = 62;

function formatLine(event: DemoEvent, paint: Paint): string {
  switch (event.kind) {
    case 'title':
      return paint('bold', event.text);
    case 'part': {
      const took = paint('dim', `(${event.seconds.toFixed(1)} s)`);
      return `  ${event.name.padEnd(NAME_COLUMNS)}${paint('cyan', event.url)}  ${event.detail} ${took}`;
    }
    case 'step':
      return `\n${paint('bold', `${event.number}/${event.of}  ${event.title}`)}`;
    case 'asking':
      return `  ${requestText(event)} ...`;
    case 'request':
      return `  ${requestText(event).padEnd(REQUEST_COLUMNS)} ${paint(statusStyle(event.status), String(event.status))} ${event.word}`.trimEnd();
    case 'waiting':
      return paint('dim', `    ... ${event.text}`);
    case 'held':
      return `    ${paint('green', 'ok')}  ${event.text}`;
    case 'meaning':
      return `  ${event.text}`;
    case 'broken':
      return `    ${paint('red', 'NOT SO')}  ${event.text}`;
    case 'places':
      return [`\n${paint('bold', event.title)}`, ...event.places.map((place) => placeText(place, paint))].join('\n');
    case 'end':
      return `\n${paint(event.ok ? 'green' : 'red', `${event.text} (${event.seconds.toFixed(1)} s)`)}`;
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
