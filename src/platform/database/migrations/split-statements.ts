/** What a piece of SQL is made of; everything else is single characters. */
const TOKEN =
  /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|(\$[A-Za-z_]*\$)[\s\S]*?\1|[A-Za-z_$][\w$]*|\s+|[\s\S]/g;

/** The statements of a text, without comments, each on one line; what stands in quotes or in a function's body stays as it is. */
export function splitStatements(text: string): string[] {
  const statements: string[] = [];
  let current = '';
  for (const [token] of text.matchAll(TOKEN)) {
    if (token.startsWith('--') || token.startsWith('/*') || /^\s/.test(token)) current += ' ';
    else if (token === ';') {
      statements.push(current);
      current = '';
    } else current += token;
  }
  return [...statements, current].map(tidy).filter((statement) => statement !== '');
}

/** Splits at commas that stand in no brackets and no quotes. */
export function splitList(text: string): string[] {
  const parts: string[] = [];
  let current = '';
  let depth = 0;
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === '(') depth += 1;
    if (token === ')') depth -= 1;
    if (token === ',' && depth === 0) {
      parts.push(current);
      current = '';
    } else current += token;
  }
  return [...parts, current].map(tidy);
}

/** Spaces outside of quotes and bodies become one. */
function tidy(text: string): string {
  let line = '';
  for (const [token] of text.matchAll(TOKEN)) line += /^\s/.test(token) ? ' ' : token;
  return line.replaceAll(/^ +| +$/g, '');
}
