import { posix } from 'node:path';
import {
  isCallExpression,
  isExportDeclaration,
  isExternalModuleReference,
  isIdentifier,
  isImportDeclaration,
  isImportEqualsDeclaration,
  isImportTypeNode,
  isLiteralTypeNode,
  isNewExpression,
  isNoSubstitutionTemplateLiteral,
  isStringLiteral,
  type NewExpression,
  type Node,
  SyntaxKind,
} from 'typescript/unstable/ast';
import { lineOf, nodesOf, type Source } from './open-sources.ts';

export interface Import {
  from: string;
  /** Path of a project file, or the specifier of an external module. */
  to: string;
  line: number;
  inside: boolean;
}

/** Stands for a computed module name. No rule allows it, because no check can follow it. */
export const COMPUTED = '(computed)';

/** Returns all modules that a file refers to in any form, including types. */
export function importsOf(source: Source): Import[] {
  const found: Import[] = [];
  for (const node of nodesOf(source.tree)) {
    const names = moduleNamesOf(node);
    for (const name of names) {
      const inside = name.startsWith('.');
      const to = inside ? posix.join(posix.dirname(source.path), name) : name;
      found.push({ from: source.path, to, line: lineOf(source, node), inside });
    }
  }
  return found;
}

function moduleNamesOf(node: Node): string[] {
  if (isImportDeclaration(node)) return [textOf(node.moduleSpecifier)];
  if (isExportDeclaration(node)) return node.moduleSpecifier === undefined ? [] : [textOf(node.moduleSpecifier)];
  if (isImportEqualsDeclaration(node)) {
    const { moduleReference } = node;
    return isExternalModuleReference(moduleReference) ? [textOf(moduleReference.expression)] : [];
  }
  if (isImportTypeNode(node)) return [isLiteralTypeNode(node.argument) ? textOf(node.argument.literal) : COMPUTED];
  if (isNewExpression(node)) return fileNamesOf(node);
  if (isCallExpression(node) && isImportCall(node.expression)) return [textOf(node.arguments[0])];
  return [];
}

/** Returns the modules named by `new URL('./x.ts', import.meta.url)`, which are started rather than imported. */
function fileNamesOf(node: NewExpression): string[] {
  const [name, base] = node.arguments ?? [];
  if (node.expression.getText() !== 'URL' || base?.getText() !== 'import.meta.url') return [];
  const text = textOf(name);
  return text.endsWith('.ts') ? [text] : [];
}

/** Whether the call is `import(...)` or `require(...)`. Resolving a path loads no module. */
function isImportCall(callee: Node): boolean {
  if (callee.kind === SyntaxKind.ImportKeyword) return true;
  return isIdentifier(callee) && callee.text === 'require';
}

function textOf(node: Node | undefined): string {
  if (node !== undefined && (isStringLiteral(node) || isNoSubstitutionTemplateLiteral(node))) return node.text;
  return COMPUTED;
}
