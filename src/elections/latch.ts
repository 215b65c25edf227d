/** Something that happens once, and that others wait for. */
export class Latch {
  readonly opened: Promise<void>;
  #open = () => {};
  #isOpen = false;

  constructor() {
    this.opened = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  open(): void {
    this.#isOpen = true;
    this.#open();
  }
}
