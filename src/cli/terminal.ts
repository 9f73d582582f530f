import { createInterface } from 'node:readline';
import { ofOwner, own } from '../contract/own-words.ts';
import { wrongUse } from './cli-error.ts';

/** Longer than any secret. */
const LONGEST_INPUT = 4_096;

export interface Terminal {
  /** True if a person can be asked: standard input and error are terminals. */
  readonly canAsk: boolean;
  /** True if standard output is a terminal. */
  readonly canReveal: boolean;
  readonly errorsOnScreen: boolean;
  /** Current widths in columns. Undefined for a stream that isn't a terminal. */
  columns?(): { out: number | undefined; errors: number | undefined };
  ask(question: string): Promise<string>;
  /** Asks without echoing the answer. */
  askUnseen(question: string): Promise<string>;
  /** Reads the next line of standard input, without echo on a terminal. */
  readSecret(what: string): Promise<string>;
}

export type Streams = Pick<NodeJS.Process, 'stdin' | 'stdout' | 'stderr'>;

/** Questions go to standard error, so that standard output contains only the command's result. */
export function openTerminal({ stdin, stdout, stderr }: Streams): Terminal {
  let lines: Promise<string[]> | null = null;
  const terminal: Terminal = {
    canAsk: stdin.isTTY === true && stderr.isTTY === true,
    canReveal: stdout.isTTY === true,
    errorsOnScreen: stderr.isTTY === true,
    columns: () => ({ out: stdout.columns, errors: stderr.columns }),
    ask: (question) =>
      new Promise((resolve) => {
        const prompt = createInterface({ input: stdin, output: stderr });
        prompt.once('SIGINT', () => process.exit(130));
        prompt.question(`${question} `, (answer) => {
          resolve(answer.trim());
          prompt.close();
        });
      }),
    askUnseen: (question) => readUnseen({ stdin, stderr }, question),
    readSecret: async (what) => {
      if (terminal.canAsk) return terminal.askUnseen(`${what}:`);
      lines ??= readLines(stdin);
      const line = (await lines).shift()?.trim();
      if (line === undefined || line === '')
        throw wrongUse(own`Standard input has no line with the ${ofOwner(what.toLowerCase())}`);
      return line;
    },
  };
  return terminal;
}

async function readLines(stdin: NodeJS.ReadStream): Promise<string[]> {
  let text = '';
  for await (const chunk of stdin) {
    text += String(chunk);
    if (text.length > LONGEST_INPUT) throw wrongUse(own`Standard input is longer than any secret`);
  }
  return text.split('\n');
}

function readUnseen({ stdin, stderr }: Pick<Streams, 'stdin' | 'stderr'>, question: string): Promise<string> {
  // Raw mode comes first, so that an answer typed right after the question isn't echoed.
  stdin.setRawMode(true);
  stderr.write(`${question} `);
  stdin.setEncoding('utf8');
  stdin.resume();
  return new Promise((resolve) => {
    let typed = '';
    const end = (): void => {
      stdin.setRawMode(false);
      stdin.pause();
      stdin.off('data', take);
      stderr.write('\n');
    };
    const take = (chunk: Buffer | string): void => {
      for (const character of String(chunk)) {
        if (character === '\u0003') {
          end();
          process.exit(130);
        }
        if (character === '\r' || character === '\n' || character === '\u0004') {
          end();
          resolve(typed.trim());
          return;
        }
        if (character === '\u007f' || character === '\b') typed = typed.slice(0, -1);
        else typed += character;
      }
    };
    stdin.on('data', take);
  });
}
