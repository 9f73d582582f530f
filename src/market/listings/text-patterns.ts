import { LATIN_LOOKS } from '../../contract/look-alikes.ts';
import { limitCombiningMarks } from '../../contract/text.ts';

// Words within one sentence. `|` ends a sentence and is not a word.
export const SENTENCE_GAP = '(?:[^ |]+ ){0,5}';
export const SENTENCE_NEAR = '(?:[^ |]+ ){0,3}';

/** Secrets that only their owner ever needs. */
const OWNER_SECRETS =
  '(?:private keys?|seed phrases?|seed words|secret phrases?|recovery (?:phrases?|codes?|words|keys?)|mnemonics?|mnemonic phrases?|merchant keys?|wallet keys?|wallet backups?|pairing codes?)';
/** Secrets that people also type into programs they have bought. */
const SHARED_SECRETS =
  '(?:secret keys?|signing keys?|ssh keys?|id rsa|keystore|api keys?|api tokens?|access tokens?|bearer tokens?|auth tokens?|session cookies?|passwords?|passphrases?|credentials|login data|authorization headers?|secrets|dotenv|environment variables)';
const POSSESSORS = '(?:your|me|us|my|its|their|users?|owners?|buyers?|humans?|operators?)';

/** Verbs for handing something to another person. */
const SEND_VERBS =
  '(?:send|share|reveal|disclose|leak|tell|give|reply with|respond with|transmit|exfiltrate|hand over|deliver|email|mail|dm|message|forward|post|comment|text)';
/** Verbs for putting something somewhere. */
const ENTER_VERBS =
  '(?:paste|enter|provide|include|type|submit|put|write|copy|print|show|attach|append|input|upload|dump|output|return|read out|cat|echo|add|fill in|confirm|verify)';
const DESTINATIONS =
  '(?:here|below|to (?:me|us|the seller|this (?:address|url|endpoint|site))|in (?:a|the|your) (?:comments?|reply|message|chat|response|answer)|into (?:this|the) (?:form|chat)|as a comment)';

const SECRET_REQUESTS: readonly RegExp[] = [
  `${SEND_VERBS} ${SENTENCE_GAP}${OWNER_SECRETS}`,
  `${SEND_VERBS} ${SENTENCE_GAP}${POSSESSORS} ${SENTENCE_NEAR}${SHARED_SECRETS}`,
  `${ENTER_VERBS} ${SENTENCE_GAP}${OWNER_SECRETS}`,
  `${ENTER_VERBS} ${SENTENCE_GAP}${SHARED_SECRETS} ${SENTENCE_NEAR}${DESTINATIONS}`,
  `(?:what is|whats|i need|we need) your ${SENTENCE_NEAR}(?:${OWNER_SECRETS}|${SHARED_SECRETS})`,
  `${OWNER_SECRETS} (?:is|are) (?:required|needed|necessary) (?:to|for|before)`,
].map((words) => new RegExp(` ${words} `, 'gu'));

/** Negates the request that follows directly, because a text that says never to do it asks for nothing. */
const NEGATION =
  /(?: never| not| dont| cannot| cant| wont| nobody| without| doesnt| didnt| shouldnt| no need to)(?: ever| to| need to| have to| want to)? ?$|(?: never| not| dont| wont| doesnt| nobody) (?:ask|asks|asking|require|requires|need|needs|want|wants|tell|tells)(?: you| anyone| anybody)?(?: to| for)? ?$/u;
const NEGATION_DISTANCE = 40;

/** Whether the text asks for something that opens an account or a wallet. */
export function asksForSecret({ sentences }: FoldedText): boolean {
  return SECRET_REQUESTS.some((pattern) => {
    pattern.lastIndex = 0;
    for (let found = pattern.exec(sentences); found !== null; found = pattern.exec(sentences)) {
      if (!NEGATION.test(sentences.slice(Math.max(0, found.index - NEGATION_DISTANCE), found.index))) return true;
      // A denied request may contain the beginning of another one that is not denied.
      pattern.lastIndex = found.index + 1;
    }
    return false;
  });
}

/** A few whole words with single spaces. A text then matches in only one way, so the work grows linearly. */
const GAP = '(?:[^ ]+ ){0,4}';
const NEAR = '(?:[^ ]+ ){0,2}';
const MODEL = '(?:ai|llm|llms|language model|model|models|assistant|assistants|agent|agents|bot|bots|chatbot|crawler)';
const ORDERS =
  '(?:instructions?|prompts?|directives?|directions?|orders|commands?|messages?|guidelines?|rules?|context)';
const BOUNDS =
  '(?:instructions?|prompts?|directives?|guidelines?|guardrails?|programming|training|safeguards?|safety rules?)';
const BEFORE =
  '(?:previous|previously|prior|above|earlier|preceding|foregoing|former|original|initial|existing|your|system)';

const INJECTION_PATTERNS: readonly RegExp[] = [
  // Makes the model drop its instructions.
  `(?:ignore|disregard|forget|neglect|dismiss|discard) ${GAP}${BEFORE} ${NEAR}${ORDERS}`,
  `(?:ignore|disregard|forget) (?:all|any|the) (?:of )?(?:the )?(?:instructions?|prompts?|directives?)`,
  `(?:override|overrule|bypass|circumvent|violate|cancel|suspend) ${GAP}(?:your|system|previous|prior) ${NEAR}${BOUNDS}`,
  `(?:ignore|disregard|forget) (?:everything|anything|all|what|whatever) ${GAP}(?:above|before|told|said|earlier|previously|learned)`,
  `(?:instructions?|prompts?|rules) ${NEAR}(?:above|before this|so far|given earlier) (?:are|is|were) ${NEAR}(?:void|obsolete|outdated|canceled|cancelled|invalid|suspended|fake)`,
  `(?:this|the following) ${NEAR}(?:overrides|supersedes|replaces|takes precedence over) ${GAP}(?:instructions?|prompts?|rules|guidelines|everything)`,
  `(?:ignore|disregard|override|bypass|violate|suspend) ${GAP}(?:safety|security) (?:protocols?|rules?|checks?|policies|measures|constraints|restrictions|filters|guidelines)`,
  `ignore (?:the |your )(?:users?|operators?|humans?) `,
  `(?:abandon|stop|drop|suspend) (?:your |the )?(?:current|normal|usual) (?:task|tasks|operations?|work)`,
  // Gives the reader another identity.
  `you are now (?!${NEAR}(?:owner|owners|ready|able|set|holder) )(?:a|an|the|my|acting|playing|called|dan|unrestricted|free|jailbroken|operating|running|in (?:[^ ]+ )?mode)`,
  `you are no longer (?:a|an|the|bound|restricted|limited|required|your)`,
  `from (?:now|here|this (?:point|moment)|this) (?:on|onward|onwards|forward) (?:you|your|always|only|never|ignore|act|answer|respond)`,
  `pretend (?:to be|you are|youre|that you|you have)`,
  `(?:developer|god|dan|jailbreak|unrestricted|admin|sudo) mode (?:is )?(?:now )?(?:enabled|activated|unlocked|engaged)`,
  `do anything now`,
  `your (?:new|real|true|actual|updated|secret|hidden) ${NEAR}(?:task|goal|objective|instructions?|mission|directives?|purpose|role|job|identity|persona) (?:is|are|will|follows?)`,
  // Addresses whatever model reads the text.
  `as an? (?:ai|llm|large language model|language model)(?: [^ ]+){0,2} (?:you|your)`,
  `(?:if|when|since|because) you are an? ${NEAR}${MODEL} ${GAP}(?:reading|processing|parsing|seeing|viewing|summari[sz]ing|reviewing) (?:this|these|the)`,
  `(?:to|any|every|all|the|attention|dear|hello|hey|note to) ${NEAR}${MODEL} (?:reading|processing|parsing|summari[sz]ing|reviewing|that reads?|who reads?|that sees?) (?:this|these|the)`,
  `(?:attention|dear) (?:all )?(?:ai|llm|language model|assistant|model)`,
  `(?:new|updated|urgent|important|secret|hidden|special) (?:system )?(?:instructions?|directives?|orders) (?:for|to) ${NEAR}${MODEL}`,
  `(?:note|message|notice|reminder|update) (?:to|for) (?:all |any |the |every )?${NEAR}(?:ai|llm|llms|language models?|assistants?)`,
  `(?:ai|llm|agent|assistant) (?:directive|override|command|note to self)`,
  `(?:new|priority|hidden|secret|overriding) (?:directives?|instructions?|commands?) (?:inform|tell|ignore|you|all|abandon|stop|output|your|from now)`,
  `as an? (?:[^ ]+ ){0,2}agent (?:you must|you should|you will|navigate|execute|send|run|download|reveal)`,
  `you (?:must|should|have to|need to) (?:now |first )?immediately`,
  // Makes the model hide or reveal something.
  `(?:tell|inform) the user (?:to (?:visit|click|go|pay|send)|that (?:their|they)|they (?:have|must|need))`,
  `without (?:the )?(?:user|users|human|operator|operators) (?:confirmation|approval|consent|permission|noticing|knowing|knowledge)`,
  `(?:your only|start(?:ing)? your|begin(?:ning)? your|in your(?: next)?|end your) (?:response|reply|answer)`,
  `(?:respond|reply|answer|say|output) (?:with |only |instead )?(?:with )?(?:exactly|nothing but|only the phrase|the phrase)`,
  `decode (?:this |it |that |the following )?and (?:then )?(?:execute|run|follow|obey|do)`,
  `(?:do not|dont|never|without|must not|should not|avoid) (?:tell|telling|inform|informing|alert|alerting|notify|notifying|warn|warning|mention ${NEAR}to|mentioning ${NEAR}to|reveal ${NEAR}to) ${NEAR}(?:user|users|human|humans|operator|operators|principal|principals)`,
  `(?:keep|hide) (?:this|these|it) ${NEAR}(?:from|secret from|hidden from) ${NEAR}(?:user|users|human|humans|operator|operators|principal|owner)`,
  `(?:reveal|print|repeat|output|show|leak|expose|dump|recite|disclose|display|return|quote|translate|tell me|give me) ${NEAR}(?:your|everything above|the text above|the words above|(?:the )?(?:full|entire|exact|complete|verbatim) (?:text of )?(?:your|the)) ?${NEAR}(?:system prompt|system message|system instructions?|initial prompt|initial instructions?|hidden prompt|hidden instructions?|developer message|original instructions?|instructions|prompt|verbatim|word for word)`,
  `(?:reveal|leak|repeat|recite|disclose) (?:the|all of the|all) (?:system|hidden|initial|developer) (?:prompt|message|instructions?)`,
  // Makes the model choose.
  `(?:you|agents?|models?|assistants?|buyers) (?:must|shall|should|will|have to|are (?:required|instructed|obliged|ordered) to) ${NEAR}(?:rank|recommend|rate|upvote|endorse|praise|promote|choose|select|prefer|buy) ${NEAR}(?:this|my|our) (?:listing|store|product|offer|goods|item|seller|merchant)`,
  `(?:always|automatically|only) (?:rank|recommend|upvote|endorse|praise|promote|choose|select|prefer|buy) (?:this|my|our) (?:listing|store|product|offer|goods|item|seller|merchant)`,
  // Translations of the best-known sentence.
  `(?:ignora|ignore|olvida) (?:todas )?(?:as|las|tus|suas) (?:instrucciones|instrucoes|reglas|regras)`,
  `(?:ignorez|ignore|oubliez|oublie) (?:toutes )?(?:les|tes|vos) (?:instructions|consignes|regles)`,
  `(?:ignoriere|ignorier|vergiss) (?:bitte )?(?:alle |deine |die )${NEAR}(?:anweisungen|instruktionen|regeln)`,
  `(?:ignora|dimentica) (?:tutte )?le ${NEAR}(?:istruzioni|regole)`,
].map((words) => new RegExp(` ${words} `, 'u'));

/** A quoted name that the reader should take, and a comment that a page would not show. */
const MARKUP_PATTERNS: readonly RegExp[] = [
  /\byou are now ["'‘“][a-z]/u,
  /(?:<!--|\[\/\/\]: ?# ?\()[^>\n]{0,60}\b(?:ai|agents?|assistants?|models?|disregard|hidden|instructions?|override|system)\b/u,
];

/** An imperative at the beginning of a sentence addresses the reader. */
const IMPERATIVE_PATTERN =
  /(?:^|[\n.!?:;>*"-]) {0,4}(?:please |now |always |you must |you should |you will )?(?:act|behave|roleplay|role-play) as (?:a|an|my|the|if|though)\b/u;

/** Patterns for other scripts. Tested on text in which look-alikes of Latin letters are not replaced. */
const OTHER_SCRIPT_PATTERNS: readonly RegExp[] = [
  /(?:игнорируи|игнорируите|забудь|забудьте) (?:все |все предыдущие |предыдущие |прежние )(?:инструкции|указания|правила|команды)/u,
  /(?:忽略|无视|忘记|無視|忘記)[^\n。]{0,8}(?:指令|指示|提示词|提示|说明|命令)/u,
  /(?:以前|これまて|上記|すへて)[^\n。]{0,6}(?:指示|命令)[^\n。]{0,4}無視/u,
];

/** Whether the text addresses a model instead of describing goods. */
export function hasInstructions({ folded, latin, words }: FoldedText): boolean {
  return (
    INJECTION_PATTERNS.some((pattern) => pattern.test(words)) ||
    IMPERATIVE_PATTERN.test(latin) ||
    MARKUP_PATTERNS.some((pattern) => pattern.test(latin)) ||
    OTHER_SCRIPT_PATTERNS.some((pattern) => pattern.test(folded))
  );
}

export interface FoldedText {
  /** Lower case, with compatibility forms and marks folded; punctuation and lines stay. */
  folded: string;
  /** The same, with letters that only look Latin replaced by Latin ones. */
  latin: string;
  /** Only the words, with single spaces between them. */
  words: string;
  /** The words, with a bar where a sentence or paragraph ends. */
  sentences: string;
}

/** Folds a text for matching. Each step reads each character once. */
export function foldText(text: string): FoldedText {
  const folded = limitCombiningMarks(text)
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll('\r\n', '\n');
  const latin = folded.replace(/[^\p{ASCII}]/gu, (letter) => LATIN_LOOKS.get(letter) ?? letter);
  // Keep `.env` as one word.
  const named = latin.replace(/['’`]/g, '').replace(/\.env\b/g, ' dotenv ');
  // Only the last of several marks in a row ends the sentence, because searching from each of them would take quadratic time.
  const sentences = named.replace(/\n\s{0,9}\n|[.!?;:](?=\s|$)|[|\p{Pd}](?=\s)|。/gu, ' | ');
  return { folded, latin, words: wordsOf(named), sentences: wordsOf(sentences) };
}

function wordsOf(text: string): string {
  return ` ${text.replace(/[^\p{L}\p{N}|]+/gu, ' ').trim()} `;
}
