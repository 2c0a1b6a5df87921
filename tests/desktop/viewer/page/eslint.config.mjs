// What the pages are checked for; run from the project's root, see .ci/run.

import js from "@eslint/js";

const BROWSER = [
  "AbortController", "document", "EventSource", "fetch", "ImageData", "performance", "requestAnimationFrame", "ResizeObserver", "setTimeout",
  "clearTimeout", "URL", "URLSearchParams", "window",
];

export default [
  js.configs.recommended,
  {
    files: ["src/ozx/desktop/*/page/*.js"],
    languageOptions: {
      ecmaVersion: 2023,
      sourceType: "module",
      globals: Object.fromEntries(BROWSER.map((name) => [name, "readonly"])),
    },
    rules: {
      "complexity": ["error", 12],
      "eqeqeq": "error",
      "max-lines": ["error", 300],
      "max-lines-per-function": ["error", 80],
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-shadow": "error",
      "no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      "no-var": "error",
      "prefer-const": "error",
    },
  },
];
