import { type Sabotage, world } from '../sabotage.ts';

const GUARD = 'src/agent/guard-wallet.ts';
const BOOK = 'src/agent/spend-book.ts';
const FILES = 'src/agent/spend-record.ts';
const POLICY = 'src/agent/policy.ts';
const OWN_FILE = 'src/agent/own-file.ts';
const BUY = 'src/agent/buy-goods.ts';
const OPTIONS = 'src/agent/spend-options.ts';
const REFUSED = 'src/agent/refused-payment.ts';
const SELL = 'src/agent/sell-goods.ts';
const ASK = 'src/mcp-server/ask-person.ts';
const FLOW = 'src/sdk/payments/payment-flow.ts';
const SDK_BUY = 'src/sdk/payments/buy.ts';
const PRINTS = 'src/cli/printable.ts';

const SHOWS = ['src/cli/printable.test.ts'];
const SIGNS = ['src/agent/guard-wallet.test.ts'];
const RESTORES = ['src/agent/export/purchases.test.ts'];
const KEEPS = ['src/agent/spend-book.test.ts'];
const LIMITS = ['src/agent/policy.test.ts'];
const BUYS = ['src/agent/buy-goods.test.ts'];
const ASKS = ['src/mcp-server/ask-person.test.ts'];
const CLIENT = ['src/sdk/payments/buy.test.ts'];
const COLLECTS = ['src/sdk/payments/collect-first.test.ts'];
const CLOCKS = ['src/sdk/payments/signing-clock.test.ts'];
const REFUSES = ['src/agent/refused-payment.test.ts'];
const SPENDS = world('agent-spends');

export function bug(name: string, file: string, find: string, put: string, tests: readonly string[]): Sabotage {
  return { name, edits: [{ file, find, put }], tests };
}

// Not tested here: the order of writing the goods and recording the payment. Only kills reveal it; see src/cli/kills.heavy.test.ts.

const wallet: readonly Sabotage[] = [
  bug('wallet-signs-another-sum', GUARD, 'BigInt(record.amount_units) === message.value &&', '', SIGNS),
  bug('wallet-signs-for-another-payee', GUARD, 'isAddressEqual(record.payee, message.to) &&', '', SIGNS),
  bug(
    'wallet-signs-on-another-network',
    GUARD,
    'NETWORKS[record.network].chainId === BigInt(domain.chainId)',
    'true',
    SIGNS,
  ),
  bug('wallet-signs-another-token', GUARD, 'isAddressEqual(domain.verifyingContract, network.usdc) &&', '', SIGNS),
  bug('wallet-signs-for-another-payer', GUARD, ' && isAddressEqual(message.from, address)', '', SIGNS),
  bug(
    'wallet-signs-twice',
    GUARD,
    'if (await spend.takeSignature())',
    'if ((await spend.takeSignature()) || true)',
    SIGNS,
  ),
  bug(
    'wallet-signs-where-the-policy-forbids-it',
    GUARD,
    'judgeMarket(policy, { market, network: networkOf(wallet, typed) });',
    'judgeMarket({ ...policy, markets: null, networks: null }, { market, network: networkOf(wallet, typed) });',
    SIGNS,
  ),
];

const book: readonly Sabotage[] = [
  bug(
    'day-is-not-counted',
    BOOK,
    'mustFitDay(policy, await countDay(context, made.key), BigInt(made.amount_units));',
    '',
    KEEPS,
  ),
  bug(
    'day-counts-what-is-signed-alone',
    BOOK,
    'if (record === null) continue;',
    'if (record === null || isUnsigned(record)) continue;',
    KEEPS,
  ),
  bug(
    'day-is-counted-side-by-side',
    BOOK,
    'const { files, lockBook } = context;\n  const book = await lockBook();',
    'const { files } = context;\n  const book = { release: async () => {} };',
    SPENDS,
  ),
  bug(
    'signed-on-another-day',
    BOOK,
    'if (dayOf(Date.parse(record.reserved_at)) !== dayOf(now())) return false;',
    '',
    KEEPS,
  ),
  bug('signed-though-the-record-is-gone', BOOK, 'return await files.isThere(record);', 'return true;', KEEPS),
  bug(
    'first-payments-stay-open',
    BOOK,
    "const isReplaced = record.state === 'signed' && signed.some(({ imported }) => imported === undefined);",
    'const isReplaced = false;',
    KEEPS,
  ),
  bug(
    'a-market-frees-any-sum',
    BOOK,
    'saidUnpaid > policy.perDayUnits ? saidUnpaid - policy.perDayUnits : 0n',
    '0n',
    KEEPS,
  ),
  bug(
    'what-may-still-be-paid-counts-no-longer',
    FILES,
    'return nowMs > (until + MAX_APART_SECONDS) * 1_000;',
    'return true;',
    KEEPS,
  ),
  bug('unsigned-sums-stay', BOOK, 'await spend.forgetUnsigned();', '', KEEPS),
  bug(
    'proof-goes-before-the-goods-are-kept',
    BOOK,
    'clear: async () => {},',
    'clear: async () => { if (record !== null) record = { ...record, saved: null }; },',
    KEEPS,
  ),
  bug(
    'imports-use-up-the-day',
    FILES,
    'if (paysItself(record) || isImportedAndClosed(record, nowMs))',
    'if (paysItself(record) || (isImportedAndClosed(record, nowMs) && nowMs < 0))',
    RESTORES,
  ),
  bug(
    'older-records-come-back',
    BOOK,
    'if (existing.some((one) => keepsExisting(one, record))) return false;',
    '',
    KEEPS,
  ),
  bug('unreadable-records-are-passed-over', FILES, 'if (record !== null) return record;', 'return record;', KEEPS),
];

const limits: readonly Sabotage[] = [
  bug(
    'unknown-words-of-a-policy',
    POLICY,
    'const policyFile = z.strictObject({',
    'const policyFile = z.object({',
    LIMITS,
  ),
  bug('above-one-purchase', POLICY, 'if (amountUnits <= most) return;', 'return;', LIMITS),
  bug('a-policy-that-others-may-write', OWN_FILE, 'forbiddenBits: 0o022,', 'forbiddenBits: 0,', LIMITS),
  bug(
    'a-policy-in-an-open-folder',
    POLICY,
    'if (folder !== null) throw unsafePolicy(path, folder);',
    'if (folder !== null && path === home) throw unsafePolicy(path, folder);',
    LIMITS,
  ),
  bug('denied-wallet-by-its-handle', POLICY, '[goods.sellerWallet.toLowerCase(), ', '[', LIMITS),
  bug('handle-that-looks-like-a-wallet', POLICY, '(WALLET.test(handle) ? [] : [handle])', '[handle]', LIMITS),
  bug(
    'another-network',
    POLICY,
    'if (policy.networks !== null && !policy.networks.includes(network))',
    'if (policy.networks !== null && policy.networks.length > 9)',
    LIMITS,
  ),
  bug(
    'allowed-wins-over-denied',
    POLICY,
    'if (deny?.some((name) => names.includes(name)) === true) return false;',
    '',
    LIMITS,
  ),
  bug(
    'above-what-the-caller-allows',
    BUY,
    'if (amountUnits > maxUnits) {',
    'if (amountUnits > maxUnits * 10n) {',
    SPENDS,
  ),
  bug(
    'a-no-is-a-yes',
    OPTIONS,
    'if (await confirm(request)) return;',
    'await confirm(request);\n  if (request) return;',
    SPENDS,
  ),
  bug(
    'a-sum-to-ask-about-is-not-asked-about',
    OPTIONS,
    'if (policy.askAboveUnits === null || request.amountUnits <= policy.askAboveUnits) return;',
    'if (confirm === undefined) return;',
    SPENDS,
  ),
  bug(
    'a-yes-counts-for-other-payments',
    ASK,
    ' || state?.digest !== digestOf(what, question)',
    ' || state === undefined',
    ASKS,
  ),
  bug(
    'fees-are-held-to-no-limit',
    SELL,
    'await spend.reserve(plan, policy);',
    'await spend.reserve(plan, { ...policy, perDayUnits: 10n ** 12n });',
    SPENDS,
  ),
];

const buying: readonly Sabotage[] = [
  bug(
    'a-second-signature-unasked',
    OPTIONS,
    "return payAgain === true && record?.state === 'signed';",
    "return record?.state === 'signed';",
    BUYS,
  ),
  bug(
    'another-payment-is-not-judged',
    BUY,
    'const again = async () => reserveSpend(options, spend,',
    'const again = async () => reserveSpend({ ...options, policy: { ...options.policy, sellers: {} } }, spend,',
    BUYS,
  ),
  bug(
    'paid-goods-are-exchanged',
    BUY,
    'if (isFixed && isVerified(record) && commitment !== kept.commitment)',
    'if (kept === undefined)',
    BUYS,
  ),
  bug(
    'goods-of-an-import-are-called-promised',
    BUY,
    'if (isVerified(record)) return bought;',
    'if (bought.alreadyHere) return bought;',
    BUYS,
  ),
  bug('what-was-paid-is-paid-for-again', FLOW, '(isCollect && saved === null', '(showsSlip && saved === null', BUYS),
  bug(
    'what-was-had-is-put-aside-again',
    BUY,
    'if (record !== null && kept !== null && (isVerified(record) || !isFree(record))) {',
    "if (record !== null && kept !== null && record.state !== 'settled' && (isVerified(record) || !isFree(record))) {",
    BUYS,
  ),
  bug(
    'wrong-goods-are-not-kept',
    BUY,
    'if (!(error instanceof ArtifactMismatch)) {',
    'if (error !== undefined) {',
    BUYS,
  ),
  bug('asked-again-is-refused', OPTIONS, "error.reason === 'payment_required' &&", "error.reason === '' &&", BUYS),
  bug('changed-goods-are-taken-for-whole', 'src/agent/save-goods.ts', '=== commitment;', '!== null;', SPENDS),
  bug(
    'proof-is-not-saved-before-it-is-sent',
    FLOW,
    '  await run.store.save(run.storeKey, run.saved);\n  run.failures = 0;',
    '  run.failures = 0;',
    CLIENT,
  ),
  bug(
    'a-second-proof-while-the-first-is-undecided',
    FLOW,
    "if (state.signed) return 'stop';",
    "if (state.signed) return 'sign';",
    CLIENT,
  ),
  bug(
    'a-lapsed-payment-is-made-again-unasked',
    FLOW,
    "return state.mayPayAgain && error.doNotPayAgain === false ? 'ask_again' : 'stop';",
    "return 'ask_again';",
    CLIENT,
  ),
  bug(
    'goods-are-not-checked',
    SDK_BUY,
    'if (delivery.listing_id === options.listingId && actual === terms.artifactCommitment) return;',
    'if (delivery.listing_id === options.listingId) return;',
    CLIENT,
  ),
  bug(
    'goods-of-the-wallet-are-paid-for',
    SDK_BUY,
    "return collectFirst === 'always' || isNewerVersion === true;",
    'return false;',
    COLLECTS,
  ),
  bug(
    'any-refusal-is-a-no',
    FLOW,
    "if (reason === 'nothing_to_collect') return true;",
    'if (signedToCollect) return true;',
    COLLECTS,
  ),
  bug(
    'own-goods-are-bought',
    'src/sdk/payments/payment-errors.ts',
    'if (payee.toLowerCase() !== payer.toLowerCase()) return;',
    "if (payee !== '') return;",
    COLLECTS,
  ),
  bug(
    'signed-for-another-market-of-the-host',
    'src/sdk/payments/market-name.ts',
    'if (claimedAddress === baseUrl) return baseUrl;',
    'if (claimedAddress !== null && URL.parse(claimedAddress)?.hostname === URL.parse(baseUrl)?.hostname) return claimedAddress;',
    ['src/sdk/payments/market-name.test.ts'],
  ),
  bug(
    'any-clock-dates-what-is-signed',
    'src/sdk/payments/signing-clock.ts',
    'if (Math.abs(server - here) <= MAX_APART_SECONDS * 1_000) return server;',
    'if (server > 0) return server;',
    CLOCKS,
  ),
  bug(
    'one-clock-ends-a-payment',
    'src/sdk/payments/payment-run.ts',
    'client.clock.earlier()',
    'client.clock.now()',
    CLOCKS,
  ),
  bug('agents-pay-for-what-is-theirs', BUY, 'if (owned !== null) return owned;', '', REFUSES),
  bug(
    'declined-reviews-are-free',
    REFUSED,
    "return payment.payment_status === 'unpaid';",
    "return payment.payment_status !== 'unsubmitted';",
    REFUSES,
  ),
  bug('refused-signatures-are-made-again', REFUSED, 'if (unpaid?.is_final !== true) return;', 'return;', REFUSES),
  bug(
    'offer-of-another-payee',
    'src/sdk/payments/payment-required.ts',
    'if (offer.payTo.toLowerCase() !== expected.payee.toLowerCase()) {',
    "if (offer.payTo === '') {",
    ['src/sdk/payments/payment-required.test.ts'],
  ),
  bug(
    'price-above-the-limit',
    SDK_BUY,
    'if (amountUnits > maxUnits) throw',
    'if (amountUnits > maxUnits * 10n) throw',
    CLIENT,
  ),
];

const words: readonly Sabotage[] = [
  bug(
    'any-text-has-a-form',
    'src/contract/own-words.ts',
    'FORMS[form].test(text) ?',
    "FORMS[form].test(text) || text !== '' ?",
    ['src/contract/own-words.test.ts'],
  ),
  bug(
    'controls-reach-the-terminal',
    PRINTS,
    'return escapeInvisible(maskSecrets(text));',
    'return maskSecrets(text);',
    SHOWS,
  ),
  bug('words-begin-a-row', PRINTS, '[row, width] = [margin, margin.length];', "[row, width] = ['', 0];", SHOWS),
];

/** Bugs on buyers' and sellers' own machines, in signatures, limits and stored data. */
export const AGENT: readonly Sabotage[] = [...wallet, ...book, ...limits, ...buying, ...words];
