import {
  isCallExpression,
  isExportDeclaration,
  isFunctionDeclaration,
  isIdentifier,
  isPropertyAccessExpression,
  isVariableStatement,
  type Node,
  SyntaxKind,
} from 'typescript/unstable/ast';
import { lineOf, nodesOf, type Source } from './open-sources.ts';
import type { Use } from './world-uses.ts';

const TEST_WORDS = new Set(['test', 'it', 'describe', 'suite', 'bench']);
const LEFT_OUT = new Set(['only', 'skip', 'todo']);

/** What no file may hold: `any`, `!` in place of a check, printing outside of the log, tests that do not run or run alone. */
export function untidyUses(source: Source): Use[] {
  const uses: Use[] = [];
  for (const node of nodesOf(source.tree)) {
    const what = untidinessOf(node);
    if (what !== null) uses.push({ path: source.path, line: lineOf(source, node), what });
  }
  return uses;
}

function untidinessOf(node: Node): string | null {
  if (node.kind === SyntaxKind.AnyKeyword) return 'any';
  if (node.kind === SyntaxKind.NonNullExpression) return 'non-null assertion';
  if (!isPropertyAccessExpression(node)) return null;
  const name = node.name.text;
  const base = firstWordOf(node.expression);
  // The log does not exist yet where a process tells why it cannot start.
  if (base === 'console' && name !== 'error') return `console.${name}`;
  return TEST_WORDS.has(base) && LEFT_OUT.has(name) ? `${base}.${name}` : null;
}

function firstWordOf(node: Node): string {
  if (isPropertyAccessExpression(node) || isCallExpression(node)) return firstWordOf(node.expression);
  return isIdentifier(node) ? node.text : '';
}

/** A file that only passes on what others export. */
export function isBarrel(source: Source): boolean {
  const { statements } = source.tree;
  return (
    statements.length > 0 && statements.every((one) => isExportDeclaration(one) && one.moduleSpecifier !== undefined)
  );
}

/** Names of exported functions and constants. */
export function exportedValues(source: Source): string[] {
  return source.tree.statements.flatMap((one) => {
    if (!one.getText(source.tree).startsWith('export ')) return [];
    if (isFunctionDeclaration(one)) return one.name === undefined ? [] : [one.name.text];
    if (!isVariableStatement(one)) return [];
    return one.declarationList.declarations.map(({ name }) => name.getText(source.tree));
  });
}
