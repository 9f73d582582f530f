/** Far deeper than any answer of a market. */
const MAX_DEPTH = 64;

/** Parses untrusted JSON up to a depth that recursive code can handle; JSON.parse has no limit. Throws a SyntaxError. */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (isDeeper(value, MAX_DEPTH)) throw new SyntaxError(`the JSON is nested deeper than ${MAX_DEPTH} levels`);
  return value;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1));
}
