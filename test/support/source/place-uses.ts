import {
  isBinaryExpression,
  isCallExpression,
  isCaseClause,
  isIdentifier,
  isPropertyAccessExpression,
  isStringLiteral,
  type Node,
} from 'typescript/unstable/ast';
import { importsOf } from './imports-of.ts';
import { lineOf, nodesOf, type Source } from './open-sources.ts';
import type { Use } from './world-uses.ts';

const SQL_MODULES = /^(?:sql-template-tag|pg|pg-.*|postgres)$/;
const SIGNING_MODULES = /^(?:viem\/accounts|@noble\/curves.*|@noble\/secp256k1)$/;
const SIGNING_NAMES = new Set([
  'signTypedData',
  'signMessage',
  'signTransaction',
  'signAuthorization',
  'signRecoverable',
  'signSchnorr',
  'privateKeyToAccount',
  'mnemonicToAccount',
  'hdKeyToAccount',
  'createWalletClient',
]);
const PROCESS_MODULES = /^node:(?:child_process|cluster|worker_threads)$/;

/** Queries, and what makes them. */
export function sqlUses(source: Source): Use[] {
  const uses = importUses(source, SQL_MODULES);
  for (const node of nodesOf(source.tree)) {
    const callee = isCallExpression(node) ? node.expression : null;
    if (callee && isPropertyAccessExpression(callee) && callee.name.text === 'query') {
      uses.push({ path: source.path, line: lineOf(source, callee.name), what: '.query(' });
    }
  }
  return uses;
}

/** Anything that holds a key or signs with one. Recovering a signer is not signing. */
export function signingUses(source: Source): Use[] {
  const uses = importUses(source, SIGNING_MODULES);
  for (const node of nodesOf(source.tree)) {
    if (isIdentifier(node) && SIGNING_NAMES.has(node.text)) {
      uses.push({ path: source.path, line: lineOf(source, node), what: node.text });
    }
  }
  return uses;
}

/** Comparisons with one of these texts, and cases of a switch for one. */
export function comparisons(source: Source, texts: ReadonlySet<string>): Use[] {
  const isOne = (node: Node): boolean => isStringLiteral(node) && texts.has(node.text);
  return [...nodesOf(source.tree)]
    .filter((node) => {
      if (isCaseClause(node)) return isOne(node.expression);
      return isBinaryExpression(node) && (isOne(node.left) || isOne(node.right));
    })
    .map((node) => ({ path: source.path, line: lineOf(source, node), what: 'compares with the name of a way to pay' }));
}

export function processUses(source: Source): Use[] {
  return importUses(source, PROCESS_MODULES);
}

function importUses(source: Source, modules: RegExp): Use[] {
  return importsOf(source)
    .filter(({ to }) => modules.test(to))
    .map(({ from, line, to }) => ({ path: from, line, what: to }));
}
