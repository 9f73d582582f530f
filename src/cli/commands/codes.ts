import { ofOwner, own } from '../../contract/own-words.ts';
import { UnreadableAnswer } from '../../sdk/errors.ts';
import { type Cli, type Command, type CommandOutput, connectTo, findOwner } from '../cli.ts';
import { CliError, isUnknown, reasonOf, toCliError, wrongUse } from '../cli-error.ts';
import { emptyIdentity, type Identity, type IdentityFile, usableCodes, withIdentityFile } from '../identity.ts';
import {
  defaultFile,
  findFile,
  marketOf,
  namedFile,
  noIdentity,
  readCode,
  readKey,
  refusalOf,
  requiredMarket,
} from '../open-account.ts';
import { MERCHANT_OPTIONS } from '../options.ts';
import { mustHoldNothingPending } from '../run-identity-command.ts';

const ANSWER_LOST = own`Run openaisle codes again: if the old codes are still valid, it makes new ones at once. If it says recovery_code_refused, the lost answer replaced them: run openaisle codes --key-only for codes that become valid after 72 hours.`;

const CODE_REFUSED = own`Pass another code with --code-stdin, or run openaisle codes --key-only for codes that become valid after 72 hours.`;

interface CodesRequest {
  market: string;
  content: Identity;
  key: string;
  code: string | null;
}

/** Makes eight new codes. They become valid at once with an old code, and after 72 hours with the key alone. */
async function makeCodes(cli: Cli): Promise<CommandOutput> {
  const { options } = cli;
  if (options['key-stdin'] === true) return withKey(cli, await readKey(cli));
  const typedCode = options['code-stdin'] === true ? await readCode(cli) : null;
  return withIdentityFile(await findFile(cli), async (file) => {
    const { path, content } = file;
    mustHoldNothingPending(content, path);
    const key = content?.merchant_key ?? null;
    if (content === null || key === null)
      throw noIdentity(own`${ofOwner(path)} has no key`, own`Name another file with --file.`);
    return replaceCodes(cli, file, {
      market: marketOf(cli, content, path),
      content,
      key,
      code: typedCode ?? codeOf(cli, content),
    });
  });
}

function codeOf({ options, now }: Cli, content: Identity): string | null {
  return options['key-only'] === true ? null : (usableCodes(content, now())[0] ?? null);
}

/** Uses a key from standard input; the new codes go into the file of its merchant. */
async function withKey(cli: Cli, key: string): Promise<CommandOutput> {
  const code = cli.options['code-stdin'] === true ? await readCode(cli) : null;
  const market = requiredMarket(cli);
  const owner = await findOwner(connectTo(cli, market), key);
  if (owner === null)
    throw new CliError('refused', { reason: 'key_invalid', title: own`The market doesn’t accept this key` });
  const { handle, merchantId } = owner;
  return withIdentityFile(namedFile(cli) ?? defaultFile(cli, market, handle), async (file) => {
    const { path, content } = file;
    mustHoldNothingPending(content, path);
    if (content !== null && (content.merchant_key !== key || marketOf(cli, content, path) !== market))
      throw wrongUse(own`${ofOwner(path)} has a different key`, own`Name another file with --file.`);
    const kept = content ?? { ...emptyIdentity(market, handle), merchant_id: merchantId, merchant_key: key };
    return replaceCodes(cli, file, { market, content: kept, key, code: code ?? codeOf(cli, kept) });
  });
}

/** If a code is sent, the request invalidates the old set, and the answer shows the new set only once. So the file records it first. */
async function replaceCodes(
  cli: Cli,
  file: IdentityFile,
  { market, content, key, code }: CodesRequest,
): Promise<CommandOutput> {
  const { path } = file;
  const current = { ...content, market };
  const at = new Date(cli.now()).toISOString();
  await file.mustBeWritable();
  if (code !== null) await file.save({ ...current, codes_in_doubt_since: content.codes_in_doubt_since ?? at });
  const made = await generateCodes(cli, market, { key, code }).catch(async (error: unknown) => {
    const unknown = isUnknown(error);
    if (code !== null && !unknown) await file.save(current);
    if (unknown && code !== null) throw toCliError(error, { file: path, nextStep: ANSWER_LOST });
    if (unknown) throw toCliError(error, { file: path });
    if (reasonOf(error) === 'recovery_code_refused') throw toCliError(error, { file: path, nextStep: CODE_REFUSED });
    throw refusalOf(error, { path, content });
  });
  const { recovery_codes, valid, valid_from } = made;
  const changed: Identity =
    valid === 'now'
      ? { ...current, recovery_codes, waiting_codes: null, codes_in_doubt_since: null }
      : { ...current, waiting_codes: { recovery_codes, valid_from } };
  await file.save(changed);
  return {
    lines:
      valid === 'now'
        ? [`Eight new recovery codes are in ${path}. The old ones no longer work.`, 'Keep a copy somewhere else.']
        : [
            `Eight new recovery codes are in ${path}. They become valid at ${valid_from}.`,
            'The old ones work until then; using one of them cancels the new ones.',
          ],
    json: { market, handle: changed.handle, valid, valid_from, file: path },
    secrets: recovery_codes.map((one) => `recovery code  ${one}`),
  };
}

async function generateCodes(cli: Cli, market: string, { key, code }: Pick<CodesRequest, 'key' | 'code'>) {
  const body = code === null ? { action: 'generate' as const } : { action: 'generate' as const, recovery_code: code };
  const { body: answer } = await connectTo(cli, market)().recovery({ key, body });
  if (answer.status !== 'generated')
    throw new UnreadableAnswer('unexpected', own`the answer doesn’t fit a request for codes`);
  return answer;
}

export const codes: Command = {
  name: 'codes',
  summary: 'makes eight new recovery codes: valid at once with an old code, after 72 hours with the key alone',
  positionals: [],
  options: [...MERCHANT_OPTIONS, 'code-stdin', 'key-only', 'reveal'],
  examples: ['openaisle codes', 'openaisle codes --key-only'],
  run: makeCodes,
};
