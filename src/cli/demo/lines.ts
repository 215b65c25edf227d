/** What a customer's message carries. */
export interface Line {
  readonly number: number;
  readonly text: string;
  /** Whether this is the customer whose conversation is shown; it is answered with more care. */
  readonly isFollowed: boolean;
}

export const linesPerRound = 4;

/** A conversation that only makes sense in order; each round is about another order. */
export function lineOf(index: number): string {
  const orderNumber = `A${1024 + Math.floor(index / linesPerRound)}`;
  const round = [
    'I want a refund',
    `order number ${orderNumber}`,
    'reschedule the delivery',
    'never mind, cancel it',
  ];
  return round[index % linesPerRound] as string;
}

export function replyTo(text: string): string {
  if (text.startsWith('order')) return `${text.slice(-5)} found`;
  if (text.startsWith('I want')) return 'refund opened';
  if (text.startsWith('reschedule')) return 'delivery moved';
  return 'refund cancelled';
}
