// Making elements. Text from files goes in as text, never as HTML.

/** An element with attributes and children; `on…` attributes are listeners, the others properties. */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key.startsWith("aria-") || key === "for") element.setAttribute(key, value);
    else element[key] = value;
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function byId(id) {
  return document.getElementById(id);
}

/** A list of terms and what they mean. */
export function fillTerms(list, terms) {
  list.replaceChildren(...terms.flatMap(([term, text]) => [make("dt", {}, term), make("dd", {}, String(text))]));
}
