import { carryOut, says } from './carry-out.ts';

carryOut('A field of a listing', {
  most: 4,
  steps: [
    (copy) =>
      copy.replace('src/contract/listing-fields.ts', [
        '} as const satisfies Record<string, { label',
        "  spoken: { label: 'Language', example: 'de', text: z.string().max(35).regex(/^[a-z-]+$/), says: 'the language' },\n} as const satisfies Record<string, { label",
      ]),
    (copy) =>
      copy.migrate(
        'spoken',
        `-- compatible: older code
alter table listings add column spoken text;
drop trigger attributes_are_fixed on listings;
create trigger attributes_are_fixed before update on listings for each row
  when ((new.license, new.spoken) is distinct from (old.license, old.spoken)) execute function attributes_are_fixed();
`,
      ),
    (copy) =>
      copy.replace('test/support/sample-requests.ts', [
        "    license: 'MIT',",
        "    license: 'MIT',\n    spoken: 'de',",
      ]),
    (copy) => copy.add('src/market/listings/spoken.test.ts', 'spoken.test.ts.txt'),
  ],
  forgotten: {
    step: (copy) =>
      copy.replace('deploy/app-role.sql', ['artifact_filename, license)', 'artifact_filename, license, spoken)']),
    by: 'test/world/app-role.test.ts',
    says: /spoken/,
  },
  shows: says('\\"spoken\\"', 'exactly this language'),
});
