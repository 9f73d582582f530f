import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { z } from 'zod';

export type Environment = Readonly<Record<string, string | undefined>>;

/** One environment variable: how to parse its value, and a description of valid values that never contains the value itself. */
export interface Variable<T> {
  schema: z.ZodType<T, string>;
  /** Completes the message "NAME must be ...". */
  must: string;
  /** Returns the default. Undefined: the variable is required. */
  fallback: (() => T) | undefined;
}

export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`the configuration is not usable:\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
    this.faults = faults;
  }
}

export function required<T>(schema: z.ZodType<T, string>, must: string): Variable<T> {
  return { schema, must, fallback: undefined };
}

export function optional<T>(
  schema: z.ZodType<T, string>,
  must: string,
  fallback: NoInfer<T> | (() => NoInfer<T>),
): Variable<T> {
  // No variable has a function as its value, so a function always computes the default.
  return { schema, must, fallback: typeof fallback === 'function' ? (fallback as () => T) : () => fallback };
}

export type Read<V extends Readonly<Record<string, Variable<unknown>>>> = {
  [Name in keyof V]: V[Name] extends Variable<infer T> ? T : never;
};

export interface KnownNames {
  /** Unknown names with this prefix are rejected, so that a typo is not silently ignored. */
  prefix: string;
  /** Names with the prefix that other code reads. */
  others: readonly string[];
}

/**
 * Reads every variable and throws one ConfigError with all faults. An empty variable counts as unset, because compose files set unused
 * variables to empty. Shows only the custom issues of a schema, because other messages could contain the value.
 */
export function readEnvironment<V extends Readonly<Record<string, Variable<unknown>>>>(
  env: Environment,
  variables: V,
  names?: KnownNames,
  /** Faults the caller found, reported together with the faults found here. */
  earlierFaults: readonly string[] = [],
): Read<V> {
  const faults = [...earlierFaults, ...(names ? unknownNames(env, Object.keys(variables), names) : [])];
  const read: Record<string, unknown> = {};
  for (const [name, variable] of Object.entries<Variable<unknown>>(variables)) {
    const text = env[name]?.trim() ?? '';
    if (text === '') {
      if (variable.fallback === undefined) faults.push(`${name} is required and must be ${variable.must}`);
      else read[name] = variable.fallback();
      continue;
    }
    const checked = variable.schema.safeParse(text);
    if (checked.success) read[name] = checked.data;
    else faults.push(describeFault(name, variable.must, checked.error.issues));
  }
  if (faults.length > 0) throw new ConfigError(faults);
  return read as Read<V>;
}

function unknownNames(env: Environment, names: readonly string[], known: KnownNames): string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith(known.prefix) && !names.includes(name) && !known.others.includes(name))
    .map((name) => `${name} is not a variable of this program`);
}

function describeFault(name: string, must: string, issues: readonly z.core.$ZodIssue[]): string {
  const custom = issues.filter((issue) => issue.code === 'custom').map((issue) => issue.message);
  return `${name} must be ${must}${custom.length > 0 ? `: ${custom.join('; ')}` : ''}`;
}

const COMMIT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;

/** Returns the commit checked out in a folder, or null. Reads git's files and starts no process. */
export function readGitCommit(folder: string): string | null {
  const git = gitFolder(folder);
  const head = readText(join(git, 'HEAD'));
  if (head === null) return null;
  const name = /^ref: (refs\/[\w./-]+)$/.exec(head)?.[1];
  const commit = name === undefined ? head : resolveRef(git, name);
  return commit !== null && COMMIT.test(commit) ? commit : null;
}

/** In a worktree, `.git` is a file with the path of the git folder. */
function gitFolder(folder: string): string {
  const path = join(folder, '.git');
  const elsewhere = /^gitdir: (.+)$/.exec(readText(path) ?? '')?.[1];
  return elsewhere === undefined ? path : resolve(folder, elsewhere);
}

function resolveRef(git: string, name: string): string | null {
  const common = resolve(git, readText(join(git, 'commondir')) ?? '.');
  for (const folder of new Set([git, common])) {
    const loose = readText(join(folder, name));
    if (loose !== null) return loose;
  }
  const packed = readText(join(common, 'packed-refs'))?.split('\n') ?? [];
  return packed.find((line) => line.endsWith(` ${name}`))?.split(' ')[0] ?? null;
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return null;
  }
}
