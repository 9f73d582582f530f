/** Far deeper than anything that a market says. */
const MOST_DEPTH = 64;

/**
 * JSON of a site, which may be nested as deeply as its bytes allow: JSON.parse bears that, and whatever walks through the value later does
 * not. Throws a SyntaxError.
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
