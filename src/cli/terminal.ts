import { createInterface } from 'node:readline';
import { ofOwner, own } from '../contract/own-words.ts';
import { wrongUse } from './cli-error.ts';

/** Longer than any secret. */
const LONGEST_INPUT = 4_096;

export interface Terminal {
  /** A person is there to be asked. */
  readonly canAsk: boolean;
  /** The standard output is a screen, neither a file nor a pipe. */
  readonly canReveal: boolean;
  /** So is the standard error. */
  readonly errorsOnScreen: boolean;
  /** The width of the two now; absent or undefined where they are no screen. */
  columns?(): { out: number | undefined; errors: number | undefined };
  ask(question: string): Promise<string>;
  /** What is typed is not shown. */
  askUnseen(question: string): Promise<string>;
  /** The next line of the standard input; typed unseen where that is a terminal. */
  readSecret(what: string): Promise<string>;
}

export type Streams = Pick<NodeJS.Process, 'stdin' | 'stdout' | 'stderr'>;

/** Questions go to the standard error, so that the output stays what the command says. */
export function openTerminal({ stdin, stdout, stderr }: Streams): Terminal {
  let lines: Promise<string[]> | null = null;
  const terminal: Terminal = {
    canAsk: stdin.isTTY === true && stderr.isTTY === true,
    canReveal: stdout.isTTY === true,
    errorsOnScreen: stderr.isTTY === true,
    columns: () => ({ out: stdout.columns, errors: stderr.columns }),
    ask: (question) =>
      new Promise((resolve) => {
        const asked = createInterface({ input: stdin, output: stderr });
        asked.once('SIGINT', () => process.exit(130));
        asked.question(`${question} `, (answer) => {
          resolve(answer.trim());
          asked.close();
        });
      }),
    askUnseen: (question) => readUnseen({ stdin, stderr }, question),
    readSecret: async (what) => {
      if (terminal.canAsk) return terminal.askUnseen(`${what}:`);
      lines ??= readLines(stdin);
      const line = (await lines).shift()?.trim();
      if (line === undefined || line === '')
        throw wrongUse(own`The standard input has no line with the ${ofOwner(what.toLowerCase())}`);
      return line;
    },
  };
  return terminal;
}

async function readLines(stdin: NodeJS.ReadStream): Promise<string[]> {
  let text = '';
  for await (const chunk of stdin) {
    text += String(chunk);
    if (text.length > LONGEST_INPUT) throw wrongUse(own`The standard input is longer than any secret`);
  }
  return text.split('\n');
}

function readUnseen({ stdin, stderr }: Pick<Streams, 'stdin' | 'stderr'>, question: string): Promise<string> {
  // First: what is typed as soon as the question stands there is not shown either.
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
