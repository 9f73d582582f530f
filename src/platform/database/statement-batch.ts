import { createRequire } from 'node:module';
import type { ClientBase, Connection, FieldDef } from 'pg';
import { ANSWER_GRACE_MS, columnTypes } from './connection.ts';
import { isWaitCanceled, unreplicatedCommit } from './database-error.ts';

/** Converts a value to text or bytes for the server. Part of the driver, but missing from its types. */
const { prepareValue } = createRequire(import.meta.url)('pg/lib/utils') as {
  prepareValue(value: unknown): string | Buffer | null;
};

export interface Statement {
  name: string;
  text: string;
  values: readonly unknown[];
}

export interface Answer {
  rows: Record<string, unknown>[];
  rowCount: number;
  command: string;
}

/** Describes how to read the rows of a statement. */
interface RowFormat {
  names: string[];
  parsers: ((text: string) => unknown)[];
  /** Each row starts as a copy of this object, so that all rows have the same keys in the same order. */
  empty: Record<string, unknown>;
}

/** A message that the server sends besides its answers. */
interface Notice {
  /** Source file of the server that reported the message. */
  file?: string;
}

/** Statements and row formats of one connection. A format never changes, because the server would then reject the statement. */
interface Prepared {
  names: Set<string>;
  formats: Map<string, RowFormat>;
  /** The running batch. It receives news of parsed statements and of warnings, which the driver does not report. */
  running: { parsed(): void; warned(notice: Notice): void } | null;
}

/**
 * Each name costs memory on its connection. Statements beyond this number stay unnamed and are parsed each time. Pass lists as one array
 * (`= any(${list})`), because one text per length would use up the names.
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

/** Returns the name of each statement on this connection. Undefined for statements that stay unnamed. */
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
 * Sends all statements together and returns their answers. After the first failure none of the remaining statements runs, and all of them
 * fail with the same error. Costs one turn of the event loop, one write and one answer, however many statements there are. If a commit
 * among them did not wait for its standby, all of them fail, because none may be treated as done.
 */
export function runBatch(client: ClientBase, statements: readonly Statement[], limitMs = 0): Promise<Answer>[] {
  const outcomes: Outcome[] = [];
  const answers = statements.map(
    () =>
      new Promise<Answer>((resolve, reject) => {
        outcomes.push({ resolve, reject });
      }),
  );
  // Mark every answer as handled. A caller that awaits only the last answer still sees each failure, because later answers fail with it.
  for (const answer of answers) answer.catch(() => {});
  try {
    client.query(Object.assign(createBatch(statements, outcomes), waitFor(client, statements.length, limitMs)));
  } catch (error) {
    for (const { reject } of outcomes) reject(error);
  }
  return answers;
}

/** Extends the driver's timeout, which is meant for one statement. */
function waitFor(client: ClientBase, statements: number, limitMs: number): { query_timeout?: number } {
  const { query_timeout: ownMs } =
    (client as { connectionParameters?: { query_timeout?: unknown } }).connectionParameters ?? {};
  return typeof ownMs === 'number' ? { query_timeout: Math.max(ownMs, limitMs + ANSWER_GRACE_MS) * statements } : {};
}

/** Implements the driver's interface for custom queries. The driver calls it for each message that arrives. */
function createBatch(statements: readonly Statement[], outcomes: readonly Outcome[]) {
  // Convert all values first: a value that cannot be converted must not leave half a batch on the wire.
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
    // An error after all statements ran means that they ran without `begin` and their implicit commit failed, so all of them are undone.
    if (error !== null && answers.length === outcomes.length) answers.length = 0;
    const every = isUnreplicated ? { error: unreplicatedCommit() } : unreadable;
    resolveOutcomes(outcomes, answers, { every, others: error });
  };

  const batch = {
    /** The driver replaces this to clear its timeout as well. */
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

/** Resolves or rejects each outcome. `every` fails all of them, `others` only those without an answer. */
function resolveOutcomes(
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

/** Parses command tags: `SELECT 5`, `INSERT 0 1`, `COMMIT`, `CREATE TABLE`. */
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
