import {
  isCallExpression,
  isFunctionLikeDeclaration,
  isIdentifier,
  isVariableDeclaration,
  type Node,
} from 'typescript/unstable/ast';
import { lineAt, lineOf, nodesOf, type Source } from './open-sources.ts';

export interface FunctionSize {
  name: string;
  line: number;
  /** From the line of its first word to that of its closing brace, both counted. */
  lines: number;
}

/**
 * Every function with a body: declarations, expressions, arrows, methods, accessors and constructors. What is handed to `describe` is
 * a chapter of a test file rather than a function: the tests in it count each for itself.
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
