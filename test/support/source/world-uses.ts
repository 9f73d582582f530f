import {
  isBindingElement,
  isCallExpression,
  isIdentifier,
  isImportSpecifier,
  isNewExpression,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isQualifiedName,
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
const MODULES = new Set([
  'node:timers',
  'node:timers/promises',
  'node:perf_hooks',
  'node:http',
  'node:https',
  'node:http2',
  'node:net',
  'node:tls',
  'node:dgram',
  'node:dns',
  'node:dns/promises',
  'undici',
]);
const CHANCE = /^(?:random|generateKey|generatePrime|generatePrivateKey|webcrypto|getRandomValues)/;
const CHANCE_FROM = /^(?:node:crypto|viem(?:\/.*)?|@noble\/.*)$/;

/** Where a file reads the clock, throws dice, waits, or goes to the network by itself instead of being handed the means. */
export function worldUses(source: Source): Use[] {
  const uses: Use[] = [];
  const note = (node: Node, what: string): void => {
    uses.push({ path: source.path, line: lineOf(source, node), what });
  };
  for (const node of nodesOf(source.tree)) {
    if (isPropertyAccessExpression(node)) {
      const name = node.getText().replace(/^globalThis\./, '').replaceAll('?.', '.');
      if (MEMBERS.has(name) || (name !== node.getText() && GLOBALS.has(name))) note(node, name);
    } else if (isNewExpression(node) && node.expression.getText() === 'Date' && !node.arguments?.length) {
      note(node, 'new Date()');
    } else if (isCallExpression(node) && node.expression.getText() === 'Date') {
      note(node, 'Date()');
    } else if (isIdentifier(node) && GLOBALS.has(node.text) && isValue(node)) {
      note(node, node.text);
    } else if (isImportSpecifier(node)) {
      const name = (node.propertyName ?? node.name).getText();
      const module = node.parent.parent.parent.moduleSpecifier.getText().slice(1, -1);
      if (CHANCE.test(name) && CHANCE_FROM.test(module)) note(node, `${name} of ${module}`);
    }
  }
  for (const { to, line } of importsOf(source)) {
    if (MODULES.has(to) && !isTypeOnly(source, line)) uses.push({ path: source.path, line, what: to });
  }
  return uses.sort((a, b) => a.line - b.line);
}

/** A type from such a module does nothing. */
function isTypeOnly(source: Source, line: number): boolean {
  return /^\s*(?:import|export) type\b/.test(source.text.split('\n')[line - 1] ?? '');
}

/** Whether the name stands for the global itself: not a member, a key, a type's part, or something declared here. */
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
