import { splitList } from './migration-files.ts';

/** `additive`: the code before goes on as it did. `look`: a person has to read it. `refused`: it stops or breaks what runs. */
export type Verdict = 'additive' | 'look' | 'refused';

export interface Judgement {
  verdict: Verdict;
  why: string;
  /** The table of before that it touches. */
  table: string | null;
}

/** What the migrations looked at so far have made: on these nothing that runs depends. */
export interface Made {
  tables: Set<string>;
  functions: Set<string>;
}

type Kind = 'transaction' | 'concurrently' | 'fill';
type Rule = (match: RegExpExecArray, made: Made, statement: string) => Judgement;

const NAME = '(?:public\\.)?("[^"]+"|[a-z_][a-z0-9_$]*)';
const start = (pattern: string): RegExp => new RegExp(`^${pattern.replaceAll('NAME', NAME)}`, 'i');

const additive = (why: string, table: string | null = null): Judgement => ({ verdict: 'additive', why, table });
const look = (why: string, table: string | null = null): Judgement => ({ verdict: 'look', why, table });
const refused = (why: string, table: string | null = null): Judgement => ({ verdict: 'refused', why, table });

const OWN = 'only what these migrations made';

/** The first that fits decides. */
const RULES: readonly [RegExp, Rule][] = [
  [
    start('create (?:unlogged )?table (?:if not exists )?NAME'),
    ([, name = ''], { tables }, statement) => {
      tables.add(name);
      return /\bif not exists\b/i.test(statement)
        ? look(`table ${name}, or the one that has this name already`)
        : additive(`new table ${name}`);
    },
  ],
  [
    start('create (unique )?index (concurrently )?(?:if not exists )?(?:NAME )?on (?:only )?NAME'),
    ([, unique, concurrently, , table = ''], { tables }) => {
      if (tables.has(table)) return additive(OWN);
      if (concurrently === undefined)
        return refused(`${table} takes no writes while the index is made: put it behind "-- concurrently"`, table);
      if (unique !== undefined) return look(`what the code before writes to ${table} must be unique too`, table);
      return additive(`index on ${table}, made while it is written to`, table);
    },
  ],
  [
    start('create (or replace )?(?:function|procedure) NAME'),
    ([, replace, name = ''], { functions }) => {
      if (functions.has(name)) return additive(OWN);
      functions.add(name);
      return replace === undefined ? additive(`new function ${name}`) : look(`function ${name} may be replaced`);
    },
  ],
  [
    start('create (?:or replace )?(?:constraint )?trigger NAME .*? on NAME'),
    ([, name = '', table = ''], { tables }) =>
      tables.has(table) ? additive(OWN) : look(`trigger ${name} acts on what the code before writes`, table),
  ],
  [start('alter table (?:if exists )?(?:only )?NAME (.*)$'), judgeAlterTable],
  [start('create (?:type|sequence|domain) '), () => additive('a new name that nothing uses yet')],
  [start('create view '), () => additive('new view')],
  [
    start('insert into NAME'),
    ([, table = ''], { tables }) =>
      tables.has(table)
        ? additive('rows of a new table')
        : look(`adds rows to ${table} that the code before sees`, table),
  ],
  [
    start('(update|delete from) (?:only )?NAME'),
    ([, , table = ''], { tables }) =>
      tables.has(table) ? additive(OWN) : refused(`changes rows of ${table} in one transaction: use "-- fill:"`, table),
  ],
  [
    start('with .*?\\b(?:update|delete from|insert into) (?:only )?NAME'),
    ([, table = '']) => refused(`changes rows of ${table} in one transaction: use "-- fill:"`, table),
  ],
  [start('truncate (?:table )?NAME'), ([, table = '']) => refused(`empties ${table}`, table)],
  [
    start('drop trigger (?:if exists )?NAME on NAME'),
    ([, name = '', table = '']) => look(`what trigger ${name} did for ${table} ends, unless it is made again`, table),
  ],
  [start('drop '), () => refused('takes away what the code before may use')],
  [start('revoke '), () => refused('takes rights away that the code before may need')],
  [start('(?:grant|comment on|analyze) '), () => additive('changes nothing that runs')],
  [start('lock '), () => refused('keeps others out of a table')],
];

/** One statement, as `splitStatements` gives it. */
export function judgeStatement(statement: string, kind: Kind, made: Made): Judgement {
  if (kind === 'fill') return judgeFill(statement, made);
  if (kind === 'transaction' && /^create (?:unique )?index concurrently /i.test(statement))
    return refused('cannot run in a transaction: put it behind "-- concurrently"');
  for (const [pattern, rule] of RULES) {
    const match = pattern.exec(statement);
    if (match !== null) return rule(match, made, statement);
  }
  return look('of a kind that is not known here');
}

function judgeFill(statement: string, { tables }: Made): Judgement {
  const [, act = '', name] = start('(?:with .*? )?(update|insert into) (?:only )?NAME').exec(statement) ?? [];
  if (name === undefined) return refused('a fill is one update or insert');
  const table = tables.has(name) ? null : name;
  if (!/\blimit \d+/i.test(statement))
    return refused(`changes all rows of ${name} at once: a fill says "limit N"`, table);
  return additive(`${act === 'update' ? 'changes' : 'adds'} rows of ${name} in batches`, table);
}

const WORST: readonly Verdict[] = ['additive', 'look', 'refused'];

function judgeAlterTable([, table = '', actions = '']: RegExpExecArray, { tables }: Made): Judgement {
  if (tables.has(table)) return additive(OWN);
  const judged = splitList(actions).map((action) => judgeAction(action, table));
  return judged.reduce((worst, one) => (WORST.indexOf(one.verdict) > WORST.indexOf(worst.verdict) ? one : worst));
}

const ACTIONS: readonly [RegExp, (match: RegExpExecArray, table: string) => Judgement][] = [
  [start('add constraint NAME (.*)$'), ([, name = '', how = ''], table) => judgeConstraint(name, how, table)],
  [
    start('add (?:check|foreign key|unique|primary key|exclude)\\b'),
    (_, table) => refused('name the constraint, add it "not valid" and validate it in a later migration', table),
  ],
  [
    start('add (?:column )?(?:if not exists )?NAME (.*)$'),
    ([, name = '', how = ''], table) => judgeColumn(name, how, table),
  ],
  [start('validate constraint NAME'), ([, name = ''], table) => additive(`looks at all rows for ${name}`, table)],
  [
    start('alter (?:column )?NAME (?:set data )?type '),
    ([, name = ''], table) => refused(`rewrites ${table} for the type of ${name}`, table),
  ],
  [
    start('alter (?:column )?NAME set not null'),
    ([, name = ''], table) => refused(`the code before may leave ${name} out`, table),
  ],
  [
    start('alter (?:column )?NAME drop default'),
    ([, name = ''], table) => refused(`the code before may leave ${name} out`, table),
  ],
  [
    start('alter (?:column )?NAME set default'),
    ([, name = ''], table) => look(`another default of ${name} for what the code before writes`, table),
  ],
  [
    start('alter (?:column )?NAME drop not null'),
    ([, name = ''], table) => look(`the code before may not expect null in ${name}`, table),
  ],
  [start('alter (?:column )?NAME set statistics'), (_, table) => additive('planning alone', table)],
  [start('set \\('), (_, table) => additive('storage alone', table)],
  [start('(?:drop|rename) '), (_, table) => refused('takes away what the code before may use', table)],
  [
    start('(?:enable|disable) trigger'),
    (_, table) => refused('a guard that is off while the code before writes, and a lock on all of it', table),
  ],
];

function judgeAction(action: string, table: string): Judgement {
  for (const [pattern, rule] of ACTIONS) {
    const match = pattern.exec(action);
    if (match !== null) return rule(match, table);
  }
  return look('of a kind that is not known here', table);
}

function judgeConstraint(name: string, how: string, table: string): Judgement {
  if (/\busing index\b/i.test(how)) return look(`what the code before writes must keep ${name} too`, table);
  if (/^not null\b|^(?:check|foreign key)\b/i.test(how) && /\bnot valid$/i.test(how))
    return look(`what the code before writes must keep ${name} too`, table);
  return refused(
    `looks at all rows of ${table} while nothing can be written: add ${name} "not valid" and validate it later`,
    table,
  );
}

/** Computed again for each row, so that the whole table is rewritten; now() is one value for all. */
const VOLATILE_DEFAULT = /\bdefault [^,]*?\b(?!now\b)[a-z_]+ ?\(/i;

function judgeColumn(name: string, how: string, table: string): Judgement {
  const hasDefault = /\bdefault\b/i.test(how);
  if (/\b(?:primary key|unique|references)\b/i.test(how) || /\bcheck ?\(/i.test(how))
    return refused(
      `a constraint with column ${name} looks at all rows of ${table} while nothing can be written: add it "not valid"`,
      table,
    );
  if (/\b(?:big|small)?serial\b|\bgenerated\b/i.test(how) || VOLATILE_DEFAULT.test(how))
    return refused(`rewrites ${table} for the values of ${name}: add it nullable and fill it`, table);
  if (/\bnot null\b/i.test(how) && !hasDefault) return refused(`the code before leaves ${name} out`, table);
  return additive(`new column ${name}${hasDefault ? ' with a default' : ', null'}`, table);
}
