import {
  isCallExpression,
  isExportDeclaration,
  isFunctionDeclaration,
  isFunctionLikeDeclaration,
  isIdentifier,
  isPropertyAccessExpression,
  isVariableDeclaration,
  isVariableStatement,
  type Node,
  SyntaxKind,
} from 'typescript/unstable/ast';
import { lineAt, lineOf, nodesOf, type Source } from './open-sources.ts';
import type { Use } from './world-uses.ts';

interface FunctionSize {
  name: string;
  line: number;
  /** Number of lines from the first word to the closing brace. */
  lines: number;
}

/**
 * Returns every function with a body: declarations, expressions, arrows, methods, accessors and constructors. Skips callbacks of
 * `describe`, whose tests are counted one by one.
 */
export function functionLines(source: Source): FunctionSize[] {
  const sizes: FunctionSize[] = [];
  for (const node of nodesOf(source.tree)) {
    if (!isFunctionLikeDeclaration(node) || !('body' in node) || node.body === undefined) continue;
    if (isChapter(node)) continue;
    const line = lineOf(source, node);
    sizes.push({ name: nameOf(node), line, lines: lineAt(source, node.end) - line + 1 });
  }
  return sizes;
}

function isChapter({ parent }: Node): boolean {
  return isCallExpression(parent) && /^describe\b/.test(parent.expression.getText());
}

function nameOf(node: Node): string {
  if ('name' in node && typeof node.name === 'object' && node.name !== null && isIdentifier(node.name as Node)) {
    return (node.name as Node).getText();
  }
  const { parent } = node;
  return isVariableDeclaration(parent) ? parent.name.getText() : '(unnamed)';
}

const TEST_WORDS = new Set(['test', 'it', 'describe', 'suite', 'bench']);
const LEFT_OUT = new Set(['only', 'skip', 'todo']);

/** Finds forbidden uses: `any`, `!` instead of a check, printing outside the log, skipped or exclusive tests. */
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
  // Allow `console.error`, because a process that cannot start has no log yet.
  if (base === 'console' && name !== 'error') return `console.${name}`;
  return TEST_WORDS.has(base) && LEFT_OUT.has(name) ? `${base}.${name}` : null;
}

function firstWordOf(node: Node): string {
  if (isPropertyAccessExpression(node) || isCallExpression(node)) return firstWordOf(node.expression);
  return isIdentifier(node) ? node.text : '';
}

/** Whether a file only reexports. */
export function isBarrel(source: Source): boolean {
  const { statements } = source.tree;
  return (
    statements.length > 0 && statements.every((one) => isExportDeclaration(one) && one.moduleSpecifier !== undefined)
  );
}

export function exportedValues(source: Source): string[] {
  return source.tree.statements.flatMap((one) => {
    if (!one.getText(source.tree).startsWith('export ')) return [];
    if (isFunctionDeclaration(one)) return one.name === undefined ? [] : [one.name.text];
    if (!isVariableStatement(one)) return [];
    return one.declarationList.declarations.map(({ name }) => name.getText(source.tree));
  });
}
