import {
  type ImportSpecifier,
  isBinaryExpression,
  isBindingElement,
  isCallExpression,
  isCaseClause,
  isIdentifier,
  isImportDeclaration,
  isImportSpecifier,
  isNewExpression,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isQualifiedName,
  isStringLiteral,
  isTypeQueryNode,
  isVariableDeclaration,
  type Node,
  SyntaxKind,
} from 'typescript/unstable/ast';
import { importsOf } from './imports-of.ts';
import { lineOf, nodesOf, type Source } from './open-sources.ts';

export interface Use {
  path: string;
  line: number;
  what: string;
}

const GLOBALS = new Set(['fetch', 'setTimeout', 'setInterval', 'XMLHttpRequest', 'WebSocket', 'EventSource']);
const MEMBERS = new Set([
  'Date.now',
  'performance.now',
  'performance.timeOrigin',
  'process.hrtime',
  'Math.random',
  'AbortSignal.timeout',
  'crypto.getRandomValues',
  'crypto.randomUUID',
  'crypto.subtle',
]);
/** Modules that count as effects, whatever is imported from them. */
const MODULES = new Set([
  'node:timers',
  'node:timers/promises',
  'node:perf_hooks',
  'node:http',
  'node:https',
  'node:http2',
  'node:tls',
  'node:dgram',
  'node:dns',
  'node:dns/promises',
  'undici',
]);
const CONNECTIONS = /^(?:connect|createConnection|Socket)$/;
const CHANCE = /^(?:random|generateKey|generatePrime|generatePrivateKey|webcrypto|getRandomValues)/;
const CHANCE_FROM = /^(?:node:crypto|viem(?:\/.*)?|@noble\/.*)$/;

/** Finds direct uses of the clock, random numbers, timers and network, which should be injected instead. */
export function worldUses(source: Source): Use[] {
  const uses: Use[] = [];
  for (const node of nodesOf(source.tree)) {
    const what = meansOf(node);
    if (what !== null) uses.push({ path: source.path, line: lineOf(source, node), what });
  }
  for (const { to, line } of importsOf(source)) {
    if (MODULES.has(to) && !isTypeOnly(source, line)) uses.push({ path: source.path, line, what: to });
  }
  return uses.sort((a, b) => a.line - b.line);
}

function meansOf(node: Node): string | null {
  if (isPropertyAccessExpression(node)) return memberMeans(node.getText());
  if (isNewExpression(node)) return isDate(node.expression) && !node.arguments?.length ? 'new Date()' : null;
  if (isCallExpression(node)) return isDate(node.expression) ? 'Date()' : null;
  if (isIdentifier(node)) return GLOBALS.has(node.text) && isValue(node) ? node.text : null;
  return isImportSpecifier(node) ? importedMeans(node) : null;
}

function memberMeans(text: string): string | null {
  const name = text.replaceAll('?.', '.');
  const bare = name.replace(/^globalThis\./, '');
  return MEMBERS.has(bare) || (bare !== name && GLOBALS.has(bare)) ? bare : null;
}

function isDate(callee: Node): boolean {
  return isIdentifier(callee) && callee.text === 'Date';
}

function importedMeans(node: ImportSpecifier): string | null {
  const name = (node.propertyName ?? node.name).getText();
  const module = moduleOf(node);
  const means = (CHANCE.test(name) && CHANCE_FROM.test(module)) || (CONNECTIONS.test(name) && module === 'node:net');
  return means ? `${name} of ${module}` : null;
}

function moduleOf(node: Node): string {
  if (isImportDeclaration(node)) return node.moduleSpecifier.getText().slice(1, -1);
  return moduleOf(node.parent);
}

/** Type imports have no effect at run time. */
function isTypeOnly(source: Source, line: number): boolean {
  return /^\s*(?:import|export) type\b/.test(source.text.split('\n')[line - 1] ?? '');
}

/** Whether the name refers to the global, and not to a member, a key, a type or a local declaration. */
function isValue(node: Node): boolean {
  const { parent } = node;
  if (isPropertyAccessExpression(parent)) return parent.expression === node;
  if (isPropertyAssignment(parent)) return parent.initializer === node;
  if (isVariableDeclaration(parent)) return parent.initializer === node;
  if (isBindingElement(parent)) return parent.initializer === node;
  if (isQualifiedName(parent) || isTypeQueryNode(parent)) return false;
  return !DECLARES.has(parent.kind);
}

const DECLARES: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.PropertySignature,
  SyntaxKind.MethodSignature,
  SyntaxKind.MethodDeclaration,
  SyntaxKind.PropertyDeclaration,
  SyntaxKind.FunctionDeclaration,
  SyntaxKind.Parameter,
  SyntaxKind.ImportSpecifier,
  SyntaxKind.TypeReference,
]);

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

/** Finds queries and the code that builds them. */
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

/** Finds code that holds a key or signs. Recovering a signer is not signing. */
export function signingUses(source: Source): Use[] {
  const uses = importUses(source, SIGNING_MODULES);
  for (const node of nodesOf(source.tree)) {
    if (isIdentifier(node) && SIGNING_NAMES.has(node.text)) {
      uses.push({ path: source.path, line: lineOf(source, node), what: node.text });
    }
  }
  return uses;
}

/** Finds comparisons with one of these texts, including cases of a switch. */
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
