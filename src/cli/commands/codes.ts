import { ofOwner, own } from '../../contract/own-words.ts';
import { MarketError, UnreadableAnswer } from '../../sdk/errors.ts';
import { type Cli, type Command, connectTo, type Done, findOwner } from '../cli.ts';
import { CliError, isUnknown, toCliError, wrongUse } from '../cli-error.ts';
import { emptyIdentity, type Identity, type IdentityFile, usableCodes, withIdentityFile } from '../identity.ts';
import {
  defaultFile,
  findFile,
  marketOf,
  namedFile,
  neededMarket,
  noIdentity,
  readCode,
  readKey,
  refusalOf,
} from '../open-account.ts';
import { OF_A_MERCHANT } from '../options.ts';
import { mustHoldNothingPending } from '../run-identity-command.ts';

const IN_DOUBT = own`Run openaisle codes again: if the codes in the file are still in force it makes eight new ones at once. If it says recovery_code_refused, the answer that was lost had ended them: openaisle codes --key-only makes others, in force after 72 hours.`;

const OTHER_WAYS = own`Hand in another code with --code-stdin, or run openaisle codes --key-only: it makes codes that come in force after 72 hours.`;

interface Wanted {
  market: string;
  content: Identity;
  key: string;
  code: string | null;
}

/** Eight new codes: at once with one of the old ones, after 72 hours with the key alone (W10). */
async function makeCodes(cli: Cli): Promise<Done> {
  const { options } = cli;
  if (options['key-stdin'] === true) return withKey(cli, await readKey(cli));
  const given = options['code-stdin'] === true ? await readCode(cli) : null;
  return withIdentityFile(await findFile(cli), async (file) => {
    const { path, content } = file;
    mustHoldNothingPending(content, path);
    const key = content?.merchant_key ?? null;
    if (content === null || key === null)
      throw noIdentity(own`There is no key in ${ofOwner(path)}`, own`Name another file with --file.`);
    return replaceCodes(cli, file, {
      market: marketOf(cli, content, path),
      content,
      key,
      code: given ?? codeOf(cli, content),
    });
  });
}

function codeOf({ options, now }: Cli, content: Identity): string | null {
  return options['key-only'] === true ? null : (usableCodes(content, now())[0] ?? null);
}

/** Without a file: the new codes go into one of the merchant's own. */
async function withKey(cli: Cli, key: string): Promise<Done> {
  const code = cli.options['code-stdin'] === true ? await readCode(cli) : null;
  const market = neededMarket(cli);
  const owner = await findOwner(connectTo(cli, market), key).catch((error: unknown) => {
    throw toCliError(error);
  });
  if (owner === null)
    throw new CliError('refused', { reason: 'key_invalid', title: own`The market does not take this key` });
  const { handle, merchantId } = owner;
  return withIdentityFile(namedFile(cli) ?? defaultFile(cli, market, handle), async (file) => {
    const { path, content } = file;
    mustHoldNothingPending(content, path);
    if (content !== null && (content.merchant_key !== key || marketOf(cli, content, path) !== market))
      throw wrongUse(
        own`${ofOwner(path)} holds another key than the one that was given`,
        own`Name another file with --file.`,
      );
    const kept = content ?? { ...emptyIdentity(market, handle), merchant_id: merchantId, merchant_key: key };
    return replaceCodes(cli, file, { market, content: kept, key, code: code ?? codeOf(cli, kept) });
  });
}

/** What the door shows it shows once, and with a code the old set is over in the same moment: that it was asked is written down first. */
async function replaceCodes(cli: Cli, file: IdentityFile, { market, content, key, code }: Wanted): Promise<Done> {
  const { path } = file;
  const asked = { ...content, market };
  const at = new Date(cli.now()).toISOString();
  await file.mustBeWritable();
  if (code !== null) await file.save({ ...asked, codes_in_doubt_since: content.codes_in_doubt_since ?? at });
  const made = await generateCodes(cli, market, { key, code }).catch(async (error: unknown) => {
    const unknown = isUnknown(error);
    if (code !== null && !unknown) await file.save(asked);
    if (unknown && code !== null) throw toCliError(error, { file: path, nextStep: IN_DOUBT });
    if (unknown) throw toCliError(error, { file: path });
    if (reasonOf(error) === 'recovery_code_refused') throw toCliError(error, { file: path, nextStep: OTHER_WAYS });
    throw refusalOf(error, { path, content });
  });
  const { recovery_codes, valid, valid_from } = made;
  const changed: Identity =
    valid === 'now'
      ? { ...asked, recovery_codes, waiting_codes: null, codes_in_doubt_since: null }
      : { ...asked, waiting_codes: { recovery_codes, valid_from } };
  await file.save(changed);
  return {
    lines:
      valid === 'now'
        ? [`Eight new recovery codes are in ${path}. The old ones are over.`, 'Keep a copy in another place.']
        : [
            `Eight new recovery codes are in ${path}. They come in force at ${valid_from}.`,
            'The old ones stay until then, and using one of them ends the new ones.',
          ],
    json: { market, handle: changed.handle, valid, valid_from, file: path },
    secrets: recovery_codes.map((one) => `recovery code  ${one}`),
  };
}

function reasonOf(error: unknown): string | null {
  return error instanceof MarketError ? error.reason : null;
}

async function generateCodes(cli: Cli, market: string, { key, code }: Pick<Wanted, 'key' | 'code'>) {
  const body = code === null ? { action: 'generate' as const } : { action: 'generate' as const, recovery_code: code };
  const { body: answer } = await connectTo(cli, market)().recovery({ key, body });
  if (answer.status !== 'generated') throw new UnreadableAnswer('unexpected', own`the answer is not one to generate`);
  return answer;
}

export const codes: Command = {
  name: 'codes',
  summary: 'eight new recovery codes: at once with one of the old ones, after 72 hours with the key alone',
  positionals: [],
  options: [...OF_A_MERCHANT, 'code-stdin', 'key-only', 'reveal'],
  examples: ['openaisle codes', 'openaisle codes --key-only'],
  run: makeCodes,
};
