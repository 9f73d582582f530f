import {
  isFunctionDeclaration,
  isFunctionLikeDeclaration,
  isIdentifier,
  isPropertyAccessExpression,
  type Node,
} from 'typescript/unstable/ast';
import { lineOf, nodesOf, type Source } from './open-sources.ts';
import type { Use } from './world-uses.ts';

const COMMENT = /^\s*(?:\/\/|\/?\*\*?|--)\s+/;
const RELATIVE = 'What|Who|Whose|Whom|Which|Where|Of|In what|That|Nothing|None|Neither|So many|As it|Such';
const OPENS_RELATIVE = new RegExp(`${COMMENT.source}(?:${RELATIVE})\\b`);

/** Citation of a numbered rule whose specification is not in this repository. `W/` begins a weak ETag. */
const RULE_NUMBER = /(?<![\w.-])W(?:[1-9]|[12]\d)\b(?!\/)/;

/** Returns TypeScript and SQL comment lines that open with a relative word, because the reader must then look for a subject. */
export function relativeComments(path: string, text: string): string[] {
  return linesWith(path, text, OPENS_RELATIVE);
}

export function ruleNumbers(path: string, text: string): string[] {
  return linesWith(path, text, RULE_NUMBER);
}

function linesWith(path: string, text: string, pattern: RegExp): string[] {
  return text
    .split('\n')
    .flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1} ${line.trim().slice(0, 120)}`] : []));
}

/** Returns functions with more positional parameters than `most`. */
export function longParameterLists(source: Source, most: number): Use[] {
  return [...nodesOf(source.tree)].flatMap((node) =>
    isFunctionLikeDeclaration(node) && 'body' in node && node.body !== undefined && node.parameters.length > most
      ? [{ path: source.path, line: lineOf(source, node), what: `${node.parameters.length} parameters` }]
      : [],
  );
}

/** Returns declared functions with a one-word name (`read`, `open`), because it rarely says what the function works on. */
export function oneWordFunctions(source: Source): Use[] {
  return [...nodesOf(source.tree)].flatMap((node) => {
    const name = isFunctionDeclaration(node) ? node.name?.text : undefined;
    return name !== undefined && /^[a-z]+\d*$/.test(name)
      ? [{ path: source.path, line: lineOf(source, node), what: name }]
      : [];
  });
}

/** Returns declared names (variables, parameters, functions, types, members) that match the pattern. */
export function declaredNames(source: Source, pattern: RegExp): Use[] {
  return [...nodesOf(source.tree)].flatMap((node) => {
    const name = declaredName(node);
    return name !== null && pattern.test(name) ? [{ path: source.path, line: lineOf(source, node), what: name }] : [];
  });
}

function declaredName(node: Node): string | null {
  if (!('name' in node) || typeof node.name !== 'object' || node.name === null) return null;
  // A property access has a name too, but declares nothing.
  if (isPropertyAccessExpression(node)) return null;
  return isIdentifier(node.name as Node) ? (node.name as Node).getText() : null;
}
