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
  /** Path of the importing file. */
  from: string;
  /** Path of a file of the project, or the name that the text gives to something outside it. */
  to: string;
  line: number;
  /** Of a file of the project. */
  inside: boolean;
}

/** Stands for a module whose name is computed: no check can follow that, so no rule allows it. */
export const COMPUTED = '(computed)';

/** Everything a file refers to as a module, in whatever form, types included. */
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

/** `new URL('./x.ts', import.meta.url)`: a module that is started rather than loaded. */
function fileNamesOf(node: NewExpression): string[] {
  const [name, base] = node.arguments ?? [];
  if (node.expression.getText() !== 'URL' || base?.getText() !== 'import.meta.url') return [];
  const text = textOf(name);
  return text.endsWith('.ts') ? [text] : [];
}

/** `import(...)` and `require(...)`. Resolving a path loads nothing. */
function isImportCall(callee: Node): boolean {
  if (callee.kind === SyntaxKind.ImportKeyword) return true;
  return isIdentifier(callee) && callee.text === 'require';
}

function textOf(node: Node | undefined): string {
  if (node !== undefined && (isStringLiteral(node) || isNoSubstitutionTemplateLiteral(node))) return node.text;
  return COMPUTED;
}
