import { splitStatements } from './split-statements.ts';

export type Step =
  /** One transaction. */
  | { kind: 'transaction'; text: string }
  /** Indexes made while rows are written, outside of a transaction. */
  | { kind: 'concurrently'; indexes: readonly { name: string; text: string }[] }
  /** One statement, again and again until it changes no row, each time a transaction of its own. */
  | { kind: 'fill'; name: string; text: string };

const MARK = /^-- (?:(then)|(concurrently)|fill: ([a-z0-9]+(?:-[a-z0-9]+)*))\s*$/;
const INDEX = /^create (?:unique )?index concurrently (?:if not exists )?([a-z_][a-z0-9_]*) on /i;

/**
 * A migration without marks is one transaction. A line `-- concurrently` begins a part that makes indexes, `-- fill: NAME` one that fills
 * rows in batches, `-- then` another transaction.
 */
export function readSteps(text: string): Step[] {
  const parts: { mark: RegExpExecArray | null; lines: string[] }[] = [{ mark: null, lines: [] }];
  for (const line of text.split('\n')) {
    const mark = MARK.exec(line);
    if (mark !== null) parts.push({ mark, lines: [] });
    else if (/^--\s*(?:fill\b.*:|concurrently\s*$)/i.test(line)) throw new Error(`"${line}" is no mark of a migration`);
    else parts.at(-1)?.lines.push(line);
  }
  if (parts.length === 1) return [{ kind: 'transaction', text }];
  return parts.flatMap(({ mark, lines }) => {
    const part = lines.join('\n');
    const statements = splitStatements(part);
    if (statements.length === 0 && mark === null) return [];
    return [readStep(mark, part, statements)];
  });
}

function readStep(mark: RegExpExecArray | null, text: string, statements: readonly string[]): Step {
  const [, , concurrently, fill] = mark ?? [];
  if (fill !== undefined) {
    const [statement] = statements;
    if (statement === undefined || statements.length > 1) throw new Error(`fill ${fill} must be one statement`);
    return { kind: 'fill', name: fill, text: statement };
  }
  if (concurrently === undefined) return { kind: 'transaction', text };
  const indexes = statements.map((statement) => {
    const name = INDEX.exec(statement)?.[1];
    if (name === undefined) throw new Error(`"create index concurrently NAME on ..." is expected, not: ${statement}`);
    return { name, text: statement };
  });
  return { kind: 'concurrently', indexes };
}
