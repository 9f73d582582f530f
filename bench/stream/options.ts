import { parseArgs } from 'node:util';

export interface Options {
  clients: number;
  rate: number;
  seconds: number;
  /** True if a browser on the page for people listens too. */
  window: boolean;
  json: boolean;
}

export const HELP = `Measures what many listeners to the public log cost, and whether each of them hears everything.

  npm run bench:stream -- [--clients 2000] [--rate 50] [--seconds 20] [--window] [--json]

  --clients  connections that listen at once
  --rate     events a second that are written meanwhile
  --seconds  for how long
  --window   one more listener is the page /window in Chromium; its rows have to be those of the log
  --json     the outcome as one JSON object on standard output
  --help     this text

Progress goes to standard error. It ends with 1 if a single client missed an event, or heard one twice or out of order.
`;

const LEAST = 1;

/** Returns null if the help is to be printed. */
export function readOptions(args: readonly string[]): Options | null {
  const options = {
    clients: { type: 'string', default: '2000' },
    rate: { type: 'string', default: '50' },
    seconds: { type: 'string', default: '20' },
    window: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  } as const;
  const { values } = parseArgs({ args: [...args], options });
  if (values.help) return null;
  const whole = (name: 'clients' | 'rate' | 'seconds', most: number): number => {
    const number = Number(values[name]);
    if (Number.isInteger(number) && number >= LEAST && number <= most) return number;
    throw new Error(`--${name} must be a whole number from ${LEAST} to ${most}`);
  };
  return {
    clients: whole('clients', 4_000),
    rate: whole('rate', 1_000),
    seconds: whole('seconds', 600),
    window: values.window,
    json: values.json,
  };
}
