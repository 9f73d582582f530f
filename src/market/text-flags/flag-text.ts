import { TEXT_FLAGS, type TextFlag } from '../../contract/text-flags.ts';
import { hasEncoded } from './find-encoded.ts';
import { hasInstructions } from './find-instructions.ts';
import { hasRoleMarkup, hasToolCall } from './find-markup.ts';
import { requestsPayment } from './find-payment-request.ts';
import { asksForSecret } from './find-secret-request.ts';
import { foldText } from './fold-text.ts';

/**
 * Which of these public texts looks as if it was meant to steer the model that reads it. In the order of TEXT_FLAGS, each once. They
 * are read as one, as a model does: what begins in a title may go on in a description.
 */
export function flagText(texts: readonly string[]): TextFlag[] {
  const text = texts.join('\n\n');
  const folded = foldText(text);
  const found: Record<TextFlag, boolean> = {
    instructions: hasInstructions(folded),
    role_markup: hasRoleMarkup(folded),
    tool_call: hasToolCall(folded),
    asks_for_secret: asksForSecret(folded),
    payment_request: requestsPayment(folded),
    encoded: hasEncoded(text),
  };
  return TEXT_FLAGS.filter((flag) => found[flag]);
}
