import type { FoldedText } from './fold-text.ts';

/** The marks by which models are told who speaks. */
const ROLES: readonly RegExp[] = [
  /<\|[a-z_ ]{2,24}\|>/,
  /\[\/?inst\]|<<\/?sys>>/,
  /<\/?(?:system|assistant|human|developer|important|admin)(?:[-_ ](?:prompt|message|reminder|instructions?|note|override))? ?\/?>/,
  /\[(?:system|assistant|(?:ai|agent|admin|priority|hidden|secret|editor|teacher|developer|system|assistant)[ _-](?:prompt|message|note|override|instructions?|directive|command|reminder)(?: to ai)?)[\]:]/,
  /\[admin\] ?:|<hidden\b|\{\{[#/] ?(?:ai|system)[_ ]/,
  /^#{2,6} ?(?:end[_ ])?system(?:[_ ]prompt)? ?#{2,6}/m,
  /^#{1,6} {0,4}(?:system|assistant|human|user|instructions?|response)(?: (?:prompt|message|instructions?|override))? ?:/m,
  /^[>*_ ]{0,8}(?:assistant|human|system (?:prompt|message|instructions?|override|note|alert)) ?\** ?:/m,
  /^[>*_ ]{0,8}system ?\** ?: ?(?:you|your|ignore|new|override|always|never|do not|the (?:user|assistant|agent)|from now)\b/m,
  /^[-=*#]{3,60} ?(?:end|begin|start)(?: of)?(?: the)? (?:system|user|listing|document|untrusted|prompt|context|input|instructions?|data|tool)\b/m,
  /"role" ?: ?"(?:system|assistant|developer|tool)"/,
];

/** Says who speaks, as if another part of the conversation began. */
export function hasRoleMarkup({ latin }: FoldedText): boolean {
  return ROLES.some((pattern) => pattern.test(latin));
}

const CALLS: readonly RegExp[] = [
  /"(?:tool_calls?|function_call|tool_use|tool_use_id|tool_name|tool_choice|recipient_name)" {0,4}:/,
  /"name" {0,4}: {0,4}"[^"\n]{1,60}", {0,4}"(?:arguments|parameters|input)" {0,4}: {0,4}[{"]/,
  /"method" {0,4}: {0,4}"tools\/call"/,
  /<\/?(?:tool_call|tool_calls|tool_use|tool_code|function_call|function_calls|function_results|tool_response|tool_result|tool_results)\b/,
  /<(?:[a-z]{2,12}:)?invoke name=|<parameter name=|<function=[a-z_]{2,40}/,
  /\bto=functions\.[a-z_]/,
];

const CALLS_IN_WORDS =
  / (?:call|invoke|trigger) (?:the |your |its |this |a )?(?:[^ ]+ ){0,2}tools? | use your (?:[^ ]+ ){0,2}tools? (?:to|and|now|for) /u;

/** Looks like a call of a tool, or asks for one. */
export function hasToolCall({ latin, words }: FoldedText): boolean {
  return CALLS_IN_WORDS.test(words) || CALLS.some((pattern) => pattern.test(latin));
}
