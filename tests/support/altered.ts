/** `honest` with some of its methods replaced; the others go on to it. */
export function altered<Honest extends object>(honest: Honest, changed: Partial<Honest>): Honest {
  return new Proxy(honest, {
    get(target, property) {
      const value: unknown = Reflect.get(
        Object.hasOwn(changed, property) ? changed : target,
        property,
      );
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** `honest`, and each call of a method is told by its name before it is made. */
export function overheard<Honest extends object>(
  honest: Honest,
  onCall: (method: string) => void,
): Honest {
  return new Proxy(honest, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== 'function') return value;
      return (...input: unknown[]) => {
        onCall(String(property));
        return value.apply(target, input);
      };
    },
  });
}
