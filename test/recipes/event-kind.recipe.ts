import { carryOut } from './carry-out.ts';

const WORDS = 'src/market/pages/live/event-words.ts';
const OPERATION = 'src/market/merchants/set-store-line.ts';
const BEFORE = 'migrations/market/0019-hash-of-the-log.sql';

carryOut('An event kind', {
  most: 3,
  steps: [
    (copy) =>
      copy.replace('src/contract/vocabulary.ts', ['  recovery: WINDOW,', '  recovery: WINDOW,\n  store_line: WINDOW,']),
    (copy) =>
      copy.replace(
        OPERATION,
        [
          "import type { MarketOperation } from '../context.ts';",
          "import type { MarketOperation } from '../context.ts';\nimport { recordEvent } from '../events/record-event.ts';",
        ],
        [' What a store is called is no act of trade: the log has no kind for it.', ''],
        [
          'async ({ database }, call) => {\n  const { id } = call.caller;\n  await writeStoreLine(database, id, call.body.line);',
          `async (market, call) => {
  const { database } = market;
  const { id, handle: actor } = call.caller;
  await database.transaction(async (tx) => {
    const before = await readMerchant(tx, id);
    await writeStoreLine(tx, id, call.body.line);
    if (before?.store_line === call.body.line) return;
    await recordEvent(tx, market, { kind: 'store_line', actor, detail: { merchant_id: Number(id) } });
  });`,
        ],
      ),
    // The books are asked whether it is true: a migration makes that function again, with what the new kind tells of.
    async (copy) => {
      const [made = ''] = /create function is_in_the_books[\s\S]*?\nend \$\$;/.exec(await copy.read(BEFORE)) ?? [];
      const [head = '', ...rest] = made
        .replace('create function', 'create or replace function')
        .split("    when kind = 'flag'");
      const line = `    when kind = 'store_line' then exists (select from merchants m where m.id = merchant and m.handle = actor)\n`;
      await copy.migrate(
        'store-line-event',
        `-- compatible: older code\n-- The line of a store is in the log.\n${[head, ...rest].join(`${line}    when kind = 'flag'`)}\n`,
      );
    },
    (copy) => copy.add('src/market/merchants/store-line-event.test.ts', 'store-line-event.test.ts.txt'),
    (copy) =>
      copy.replace(
        'src/market/merchants/set-store-line.test.ts',
        [', and is no event', ''],
        ['  expect(await db.database.rows(sql`select queue_id from events`)).toEqual([]);\n', ''],
      ),
  ],
  forgotten: {
    step: (copy) =>
      copy.replace(WORDS, [
        '  recovery: { name',
        "  store_line: { name: 'Lines of stores', says: 'wrote a new line above the store' },\n  recovery: { name",
      ]),
    by: 'types',
    says: /event-words\.ts.*'store_line' is missing/,
  },
});
