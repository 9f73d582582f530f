import { REPEAT_WINDOW_DAYS, STAGE_MINUTES } from '../../../contract/vocabulary.ts';
import { COOKIE_NAMES } from '../../connect/create-provider.ts';
import { type Block, type Document, heading, list, text } from '../../guide/guide.ts';
import { NETWORK_LIMITS } from '../../limits/network-limits.ts';
import type { DocumentFacts } from './support.ts';

export function privacyDocument(facts: DocumentFacts): Document {
  return {
    title: 'Privacy',
    summary: 'What is stored here, who can see it, how long it stays, and what is never taken.',
    blocks: [
      ...publicForEver(facts),
      ...publicUntilRemoved(),
      ...storedPrivately(),
      ...neverStored(),
      ...networkAddresses(facts),
      ...accessLog(),
      ...aboutCookies(),
      ...sharedElsewhere(facts),
      ...aboutDeletion(),
    ],
  };
}

function publicForEver({ network }: DocumentFacts): Block[] {
  return [
    heading('Public for ever'),
    text('This cannot be taken back, by you or by anybody. Think before you write.'),
    list([
      'The [log of events](/api/events): what happened, when, by which handle, about which listing. It holds ids and codes and no texts of yours.',
      'An event `sale` names the handle of the buyer and the transaction, so it joins a handle to the wallet that paid. Who does not want that buys without a key: no handle is named then.',
      'Your handle, the time at which you joined, the city handle that you linked.',
      'Price, wallet, times and numbers of each listing; [each fee](/treasury) with its transaction.',
      'Reasons of removals, statements of appeals and what was decided on them. A statement that was emptied is shown no more and stays in the database.',
      'Drafts, checkouts and sales of things of a city, with the residents that they name.',
      `Everything on the chain of \`${network.name}\`: it is not ours, and shows which wallet paid which.`,
    ]),
  ];
}

function publicUntilRemoved(): Block[] {
  return [
    heading('Public until it is changed or removed'),
    list([
      'Title, description, preview, tags and keywords of a listing, and its license, also after its withdrawal. After a removal they are shown no more; they are kept, for an appeal.',
      'Comments. One that was emptied is shown no more and stays in the database.',
      'The line over your store, which you may change or clear. The votes of a listing, as a number, and how many of them are of buyers.',
    ]),
  ];
}

function storedPrivately(): Block[] {
  return [
    heading('Stored, and not public'),
    list([
      'What you sell, until it is bought. The operator of the database could read it. What you uploaded and did not list, for a day; its name, size and hash, for 30 days.',
      'What you bought, your intents and payments, also those that came to nothing: listing, wallet, amount, transaction, block, times. They are kept, because they prove what you paid for.',
      'Which listings you voted for; why you flagged something, which the maintainer reads (that you did is public); the model and the kind of client that you named when you joined.',
      'Keys, recovery codes and pairing codes as hashes under a secret that is not in the database; delivery tokens and download tokens as hashes. They cannot be read back.',
      'Which collecting signature of which wallet has handed goods over, by its nonce, until a while after it has run out. Which wallet got a download token for which goods, likewise.',
      'How much of which goods you downloaded in a day, by purchase, merchant or wallet. Free goods without a key: by network address, as below.',
      `What you began and did not confirm at a door, for seven days after its ${STAGE_MINUTES} minutes; the text of a listing whose fee is under way, until the fee has ended.`,
      'Programs that you connect: what they call themselves and what you allowed, until an hour after it has run out; the attempt, for a day; that you did, and when it ended, for good.',
      `Hashes of titles and goods for ${REPEAT_WINDOW_DAYS} days, and figures of live goods by which near copies are found.`,
    ]),
  ];
}

function neverStored(): Block[] {
  return [
    heading('Never stored'),
    list([
      'Names, e-mail addresses, telephone numbers: this market never asks for them.',
      'Private keys and seed phrases: this market never asks for them either. A site or person that does is not this market.',
      'Signatures and payment headers. A key or a code in the wrong place is refused and kept nowhere.',
      'What your browser says of itself, and which page you came from.',
    ]),
  ];
}

function networkAddresses({ limits }: DocumentFacts): Block[] {
  return [
    heading('Network addresses'),
    text(
      'Yours is counted at the doors where an attacker could guess or flood: the IPv4 address, or the first 64 bits of an IPv6 address, and the /24 or /48 around it, with a number and the hour. It is joined to no merchant and stands in no log. Counts of past days are cleared away as new ones are made, two days later at the earliest. What reads and the event stream cost is counted in memory as well, for a minute or an hour and while you listen.',
    ),
    list(NETWORK_LIMITS.map((name) => `\`${name}\`: ${limits[name]}`)),
    text(
      'Some networks may have other numbers here. What stands in front of this market, such as a proxy, may keep more: ask its operator.',
    ),
  ];
}

function accessLog(): Block[] {
  return [
    heading('The log of the server'),
    text(
      'One line for a request: time, method, pattern of the route, status, duration, request id, the reason of a refusal, the tool that was called and the number of the merchant whose key was shown. Payments add ids, transaction and wallet; faults what went wrong. No address of yours, no path, no query, no header, no body. Plain public reads have no lines of their own; they are counted. How long lines are kept is up to the operator.',
    ),
  ];
}

function aboutCookies(): Block[] {
  const { interaction, resume } = COOKIE_NAMES;
  return [
    heading('Cookies'),
    text('Reading needs none and sets none. No cookie is read by scripts, and none is for anybody else.'),
    list([
      '`__Host-openaisle-form`, at the doors for keys: shows that a form is from the page that we gave to your browser. Until you close the browser.',
      '`__Host-openaisle-stage`, there too: finds again what you have begun and not confirmed. One hour.',
      `\`${interaction}\` and \`${resume}\`, when you connect a program: keep your attempt apart from others. Until it has ended, 15 minutes at most.`,
      'If you choose a light or dark theme, your browser remembers the word. It is not sent to us.',
    ]),
    text(
      'If you buy with a wallet in your browser, it remembers the purchase in its own storage for this site: the signed payment until it has ended, how far it has come, the wallet that paid, and the delivery token with which the goods can be shown again. Scripts of this site read it; it goes to this market alone, with requests for these goods, and never into an address. It stays until you press “Forget this purchase” or clear the data of this site.',
    ),
  ];
}

function sharedElsewhere({ cityUrl }: DocumentFacts): Block[] {
  return [
    heading('Who else learns of you'),
    list([
      'Pages load nothing from elsewhere, count no visitors, and tell no other site where you came from.',
      'The facilitator named in [official facts](/api/official) sees payments by x402, and the providers of the chain are asked about wallets and transactions. Neither is told your address or handle.',
      cityUrl === null
        ? 'There is no linked city, so nothing is told to one.'
        : `The city at ${cityUrl} is asked for what everybody can read there, and nothing else. What you tell the city is its own matter.`,
      'The host of a program that you connect is asked what the program is. The program is told what it asks for and you allow.',
    ]),
  ];
}

function aboutDeletion(): Block[] {
  return [
    heading('What you can end'),
    list([
      'Withdraw a listing, clear the line over your store, disconnect a program at [Connected programs](/mcp/connect/grants), replace your key. Ask the maintainer to remove a listing or to empty a comment.',
      'A store is not deleted: sales and the log refer to it. Without its key and codes it stands still.',
      'The operator is who answers for what the law says about your data. Who that is, is on [About](/about).',
    ]),
  ];
}
