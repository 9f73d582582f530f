/** Far deeper than anything that a market says. */
const MOST_DEPTH = 64;

/**
 * Parses JSON of a site. JSON.parse takes any depth, and a later walk through the value would use up the stack, so deeper values are refused
 * here. Throws a SyntaxError.
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (isDeeper(value, MOST_DEPTH)) throw new SyntaxError(`the JSON is nested deeper than ${MOST_DEPTH} levels`);
  return value;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1));
}
