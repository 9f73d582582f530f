import { createRequire } from 'node:module';
import type { ClientBase, Connection, FieldDef } from 'pg';
import { ANSWER_GRACE_MS, columnTypes } from './connection.ts';
import { isWaitCanceled, unreplicatedCommit } from './database-error.ts';

/** A value as the server reads it: text, or bytes as they are. A part of the driver that its types leave out. */
const { prepareValue } = createRequire(import.meta.url)('pg/lib/utils') as {
  prepareValue(value: unknown): string | Buffer | null;
};

export interface Statement {
  /** Under which a connection prepares it. */
  name: string;
  text: string;
  values: readonly unknown[];
}

export interface Answer {
  rows: Record<string, unknown>[];
  rowCount: number;
  /** As the server names it: SELECT, COMMIT. */
  command: string;
}

/** How the rows of a statement are read. */
interface RowFormat {
  names: string[];
  parsers: ((text: string) => unknown)[];
  /** Each row begins as a copy of it, so that all rows are of one form. */
  empty: Record<string, unknown>;
}

/** Messages that the server sends beside its answers. */
interface Notice {
  /** The file of its source code. */
  file?: string;
}

/** What one connection has prepared, and how the rows of it look: that never changes, or the server refuses to run it. */
interface Prepared {
  names: Set<string>;
  formats: Map<string, RowFormat>;
  /** The batch under way, which is told when a statement was parsed, and of warnings: the driver does not pass them on. */
  running: { parsed(): void; warned(notice: Notice): void } | null;
}

/**
 * Each name costs memory on its connection, so that a text beyond this many goes unnamed there and is parsed each time. Hand lists in as
 * one array (`= any(${list})`): a text for each length would use the names up.
 */
const MAX_NAMES = 500;

const preparedByConnection = new WeakMap<Connection, Prepared>();

function preparedOn(connection: Connection): Prepared {
  const existing = preparedByConnection.get(connection);
  if (existing !== undefined) return existing;
  const prepared: Prepared = { names: new Set(), formats: new Map(), running: null };
  connection.on('parseComplete', () => prepared.running?.parsed());
  connection.on('notice', (notice: Notice) => prepared.running?.warned(notice));
  preparedByConnection.set(connection, prepared);
  return prepared;
}

/** The name of each on this connection; undefined for one that stays unnamed. */
function namesOn({ names }: Prepared, statements: readonly Statement[]): (string | undefined)[] {
  const added = new Set<string>();
  return statements.map(({ name }) => {
    if (names.has(name) || added.has(name)) return name;
    if (names.size + added.size >= MAX_NAMES) return undefined;
    added.add(name);
    return name;
  });
}

interface Outcome {
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/**
 * Sends all of these to the server at once and hands out their answers in turn. After the first that fails none is run, and all that
 * follow fail with the same error. One turn of the event loop, one write and one answer, however many there are. If a commit among them did
 * not wait for its standby, all fail: none of them may be taken for done.
 */
export function runBatch(client: ClientBase, statements: readonly Statement[], limitMs = 0): Promise<Answer>[] {
  const outcomes: Outcome[] = [];
  const answers = statements.map(
    () =>
      new Promise<Answer>((resolve, reject) => {
        outcomes.push({ resolve, reject });
      }),
  );
  // All are handed out: a caller that waits for none but the last still hears of every failure through it.
  for (const answer of answers) answer.catch(() => {});
  try {
    client.query(Object.assign(createBatch(statements, outcomes), waitFor(client, statements.length, limitMs)));
  } catch (error) {
    for (const { reject } of outcomes) reject(error);
  }
  return answers;
}

/** The limit of the driver is meant for one statement. */
function waitFor(client: ClientBase, statements: number, limitMs: number): { query_timeout?: number } {
  const { query_timeout: ownMs } =
    (client as { connectionParameters?: { query_timeout?: unknown } }).connectionParameters ?? {};
  return typeof ownMs === 'number' ? { query_timeout: Math.max(ownMs, limitMs + ANSWER_GRACE_MS) * statements } : {};
}

/** In the form in which the driver runs what is not its own: it is called for each message that comes back. */
function createBatch(statements: readonly Statement[], outcomes: readonly Outcome[]) {
  // Before anything is sent: a value that cannot be written must not leave half a batch on the wire.
  const values = statements.map((statement) => statement.values.map(prepareValue));
  const answers: Answer[] = [];
  let current = startAnswer();
  let format: RowFormat | null = null;
  let prepared: Prepared | null = null;
  let names: readonly (string | undefined)[] = [];
  let unreadable: { error: unknown } | null = null;
  let isUnreplicated = false;

  const currentFormat = (): RowFormat | null => prepared?.formats.get(names[answers.length] ?? '') ?? null;
  const complete = (): void => {
    const name = names[answers.length];
    if (name !== undefined && !prepared?.formats.has(name)) prepared?.formats.set(name, format ?? NO_COLUMNS);
    answers.push(current);
    current = startAnswer();
    format = currentFormat();
  };
  const finish = (error: unknown): void => {
    if (prepared !== null) prepared.running = null;
    // Everything ran, and then the server said no: outside of a transaction that is the commit, which takes all of it back.
    if (error !== null && answers.length === outcomes.length) answers.length = 0;
    const every = isUnreplicated ? { error: unreplicatedCommit() } : unreadable;
    handOutAnswers(outcomes, answers, { every, others: error });
  };

  const batch = {
    /** The driver puts its own in the place of this, which also ends the wait for an answer. */
    callback: finish,
    submit: (connection: Connection): void => {
      prepared = preparedOn(connection);
      names = namesOn(prepared, statements);
      prepared.running = {
        parsed: () => {
          const name = names[answers.length];
          if (name !== undefined) prepared?.names.add(name);
        },
        warned: (notice) => {
          isUnreplicated ||= isWaitCanceled(notice);
        },
      };
      format = currentFormat();
      connection.stream.cork();
      sendStatements(connection, prepared, { statements, names, values });
      connection.stream.uncork();
    },
    handleRowDescription: ({ fields }: { fields: FieldDef[] }): void => {
      format = readRowFormat(fields);
    },
    handleDataRow: ({ fields }: { fields: (string | null)[] }): void => {
      try {
        current.rows.push(readRow(fields, format ?? NO_COLUMNS));
      } catch (error) {
        unreadable ??= { error };
      }
    },
    handleCommandComplete: ({ text }: { text: string }): void => {
      const [, command = '', touched = '0'] = TAG.exec(text) ?? [];
      current.command = command;
      current.rowCount = Number(touched);
      complete();
    },
    handleEmptyQuery: complete,
    handleError: (error: unknown): void => batch.callback(error),
    handleReadyForQuery: (): void => batch.callback(null),
  };
  return batch;
}

/** `every`: fails all of them. `others`: fails those without an answer. */
function handOutAnswers(
  outcomes: readonly Outcome[],
  answers: readonly Answer[],
  { every, others }: { every: { error: unknown } | null; others: unknown },
): void {
  outcomes.forEach(({ resolve, reject }, at) => {
    const answer = answers[at];
    if (every !== null) reject(every.error);
    else if (answer === undefined) reject(others ?? new Error('the server ended a batch without all of its answers'));
    else resolve(answer);
  });
}

/** What the server says was done: `SELECT 5`, `INSERT 0 1`, `COMMIT`, `CREATE TABLE`. */
const TAG = /^(\w+)(?:.*? (\d+)$)?/;

const NO_COLUMNS: RowFormat = { names: [], parsers: [], empty: {} };

function readRowFormat(fields: readonly FieldDef[]): RowFormat {
  const names = fields.map(({ name }) => name);
  return {
    names,
    parsers: fields.map(({ dataTypeID }) => columnTypes.getTypeParser(dataTypeID, 'text')),
    empty: Object.fromEntries(names.map((name) => [name, null])),
  };
}

function startAnswer(): Answer {
  return { rows: [], rowCount: 0, command: '' };
}

interface Message {
  statements: readonly Statement[];
  names: readonly (string | undefined)[];
  values: readonly (string | Buffer | null)[][];
}

function sendStatements(connection: Connection, prepared: Prepared, { statements, names, values }: Message): void {
  const sent = new Set<string>();
  statements.forEach(({ text }, at) => {
    const name = names[at];
    if (name === undefined || !(prepared.names.has(name) || sent.has(name))) {
      connection.parse({ name: name ?? '', text, types: [] }, true);
      if (name !== undefined) sent.add(name);
    }
    connection.bind({ statement: name ?? '', values: values[at] ?? [] }, true);
    if (name === undefined || !prepared.formats.has(name)) connection.describe({ type: 'P' }, true);
    connection.execute(null, true);
  });
  connection.sync();
}

function readRow(fields: readonly (string | null)[], { names, parsers, empty }: RowFormat): Record<string, unknown> {
  const row = { ...empty };
  for (let at = 0; at < names.length; at += 1) {
    const text = fields[at] ?? null;
    if (text !== null) row[names[at] ?? ''] = parsers[at]?.(text);
  }
  return row;
}
