import type { FoldedText } from './fold-text.ts';

// Words of one sentence: `|` ends a sentence and is not a word.
const GAP = '(?:[^ |]+ ){0,5}';
const NEAR = '(?:[^ |]+ ){0,3}';

/** What only its owner ever needs. */
const PRECIOUS =
  '(?:private keys?|seed phrases?|seed words|secret phrases?|recovery (?:phrases?|codes?|words|keys?)|mnemonics?|mnemonic phrases?|merchant keys?|wallet keys?|wallet backups?|pairing codes?)';
/** What is also typed into a program that one has bought. */
const USUAL =
  '(?:secret keys?|signing keys?|ssh keys?|id rsa|keystore|api keys?|api tokens?|access tokens?|bearer tokens?|auth tokens?|session cookies?|passwords?|passphrases?|credentials|login data|authorization headers?|secrets|dotenv|environment variables)';
const WHOSE = '(?:your|me|us|my|its|their|users?|owners?|buyers?|humans?|operators?)';

/** Hands something to another person. */
const HAND =
  '(?:send|share|reveal|disclose|leak|tell|give|reply with|respond with|transmit|exfiltrate|hand over|deliver|email|mail|dm|message|forward|post|comment|text)';
/** Puts something somewhere. */
const PUT =
  '(?:paste|enter|provide|include|type|submit|put|write|copy|print|show|attach|append|input|upload|dump|output|return|read out|cat|echo|add|fill in|confirm|verify)';
const THERE =
  '(?:here|below|to (?:me|us|the seller|this (?:address|url|endpoint|site))|in (?:a|the|your) (?:comments?|reply|message|chat|response|answer)|into (?:this|the) (?:form|chat)|as a comment)';

const REQUESTS: readonly RegExp[] = [
  `${HAND} ${GAP}${PRECIOUS}`,
  `${HAND} ${GAP}${WHOSE} ${NEAR}${USUAL}`,
  `${PUT} ${GAP}${PRECIOUS}`,
  `${PUT} ${GAP}${USUAL} ${NEAR}${THERE}`,
  `(?:what is|whats|i need|we need) your ${NEAR}(?:${PRECIOUS}|${USUAL})`,
  `${PRECIOUS} (?:is|are) (?:required|needed|necessary) (?:to|for|before)`,
].map((words) => new RegExp(` ${words} `, 'gu'));

/** What turns the request right behind it round: who is told never to do it is not asked for anything. */
const DENIED =
  /(?: never| not| dont| cannot| cant| wont| nobody| without| doesnt| didnt| shouldnt| no need to)(?: ever| to| need to| have to| want to)? ?$|(?: never| not| dont| wont| doesnt| nobody) (?:ask|asks|asking|require|requires|need|needs|want|wants|tell|tells)(?: you| anyone| anybody)?(?: to| for)? ?$/u;
const DENIED_WITHIN = 40;

/** Asks for what opens an account or a wallet. */
export function asksForSecret({ sentences }: FoldedText): boolean {
  return REQUESTS.some((pattern) => {
    pattern.lastIndex = 0;
    for (let found = pattern.exec(sentences); found !== null; found = pattern.exec(sentences)) {
      if (!DENIED.test(sentences.slice(Math.max(0, found.index - DENIED_WITHIN), found.index))) return true;
      // What is denied may hold the beginning of what is not.
      pattern.lastIndex = found.index + 1;
    }
    return false;
  });
}
