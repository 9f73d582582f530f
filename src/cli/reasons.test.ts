import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  isCallExpression,
  isClassDeclaration,
  isConditionalExpression,
  isConstructorDeclaration,
  isFunctionDeclaration,
  isIdentifier,
  isNewExpression,
  isObjectLiteralExpression,
  isParameterDeclaration,
  isPropertyAssignment,
  isStringLiteral,
  isTypeAliasDeclaration,
  type Node,
} from 'typescript/unstable/ast';
import { expect, test } from 'vitest';
import { nodesOf, openTexts, type Source } from '../../test/support/source/open-sources.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const FOLDERS = ['src/agent', 'src/cli', 'src/mcp-server'];
/** SDK files whose `why` values become reasons of the command line. */
const OF_SDK = ['src/sdk/errors.ts', 'src/sdk/payments/payment-errors.ts'];

function sources(): Source[] {
  const own = FOLDERS.flatMap((folder) =>
    readdirSync(resolve(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
      .map((name) => `${folder}/${name.replaceAll('\\', '/')}`),
  );
  return openTexts(
    Object.fromEntries([...own, ...OF_SDK].map((path) => [path, readFileSync(resolve(ROOT, path), 'utf8')])),
  );
}

/** Yields the reasons in an expression: both branches of a conditional, but not its condition. */
function* wordsIn(node: Node | undefined): Generator<string> {
  // Object literals are options, not reasons.
  if (node === undefined || isObjectLiteralExpression(node)) return;
  if (isConditionalExpression(node)) {
    yield* wordsIn(node.whenTrue);
    yield* wordsIn(node.whenFalse);
    return;
  }
  if (isStringLiteral(node) && /^[a-z]+(?:_[a-z]+)*$/.test(node.text)) yield node.text;
  const children: Node[] = [];
  node.forEachChild((child) => {
    children.push(child);
  });
  for (const child of children) yield* wordsIn(child);
}

/** Maps each function and class that takes a `reason` argument to its index. */
function reasonArguments(nodes: readonly Node[]): Map<string, number> {
  const found = new Map<string, number>();
  for (const node of nodes) {
    const named = isConstructorDeclaration(node) ? node.parent : node;
    if (!isFunctionDeclaration(node) && !isConstructorDeclaration(node)) continue;
    if (!isFunctionDeclaration(named) && !isClassDeclaration(named)) continue;
    const at = node.parameters.findIndex(({ name }) => isIdentifier(name) && name.text === 'reason');
    if (at >= 0 && named.name !== undefined) found.set(named.name.text, at);
  }
  return found;
}

function reasonsOf(read: readonly Source[]): Set<string> {
  const nodes = read.flatMap(({ tree }) => [...nodesOf(tree)]);
  const arguments_ = reasonArguments(nodes);
  return new Set(
    nodes.flatMap((node) => {
      const isReason =
        (isPropertyAssignment(node) || isParameterDeclaration(node)) &&
        isIdentifier(node.name) &&
        node.name.text === 'reason';
      if (isReason) return [...wordsIn(node.initializer)];
      if (isTypeAliasDeclaration(node) && node.name.text.startsWith('Why')) return [...wordsIn(node.type)];
      if (!(isCallExpression(node) || isNewExpression(node)) || !isIdentifier(node.expression)) return [];
      const at = arguments_.get(node.expression.text);
      return at === undefined ? [] : [...wordsIn(node.arguments?.[at])];
    }),
  );
}

test('every reason of the command line stands in the table of docs/cli.md, and no other', () => {
  const text = readFileSync(resolve(ROOT, 'docs/cli.md'), 'utf8');
  const [, section = ''] = /\n## Reasons\n([\s\S]*?)\n## /.exec(text) ?? [];
  const cells = [...section.matchAll(/^\| (`.*?) \|/gm)].map(([, cell = '']) => cell);
  const told = cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, word = '']) => word));
  expect(told.toSorted()).toEqual([...reasonsOf(sources())].toSorted());
});

test('a reason is found wherever it is given', () => {
  const text = `
    type Why = 'of_a_type';
    class Refused { constructor(title: string, reason: string) {} }
    function refuse(reason = 'of_a_default', title = 'no_reason') {}
    refuse(typeof ask === 'string' ? 'of_one_way' : 'of_another');
    throw new Refused('no_reason_either', 'of_a_class');
    const parts = { reason: 'of_a_field', title: 'nor_here', code: 'nor_there' };`;
  expect([...reasonsOf(openTexts({ 'a.ts': text }))].toSorted()).toEqual(
    ['of_a_class', 'of_a_default', 'of_a_field', 'of_a_type', 'of_another', 'of_one_way'].toSorted(),
  );
});
