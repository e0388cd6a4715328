"""What an eye notices, as scripts that a page can be asked: each gives what is wrong, as a list of words."""

from typing import Final

TOO_WIDE: Final = """() => {
    const wrong = [];
    if (document.documentElement.scrollWidth > innerWidth) wrong.push("the page scrolls sideways");
    const boxes = ".llm-lead, .llm-card, .llm-answer, .llm-preview, .llm-note, .llm-choice, .llm-message";
    for (const it of document.querySelectorAll("#content *")) {
        const edge = it.getBoundingClientRect().right;
        const box = it.parentElement.closest(boxes) || document.querySelector("#content");
        const inside = box.getBoundingClientRect().right - parseFloat(getComputedStyle(box).paddingRight);
        if (it.checkVisibility() && edge > inside + 1) wrong.push(`${it.tagName} ${it.className}: ${it.innerText}`);
    }
    return wrong;
}"""
"""Nothing is wider than the screen, nor than the box that it stands in."""

TOO_FAINT: Final = """() => {
    document.getAnimations().forEach((fading) => fading.finish());
    const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const over = (above, below) => {
        const [r, g, b, a = 1] = channels(above);
        return `rgb(${channels(below).slice(0, 3).map((c, i) => [r, g, b][i] * a + c * (1 - a)).join()})`;
    };
    const background = (it) => {
        const layers = [];
        for (; it; it = it.parentElement) layers.unshift(getComputedStyle(it).backgroundColor);
        return layers.reduce((below, above) => over(above, below), "rgb(255, 255, 255)");
    };
    const light = (colour) => {
        const linear = (c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
        const [r, g, b] = channels(colour).map((c) => linear(c / 255));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const wrong = [];
    for (const it of document.querySelectorAll(".llm-page *, #changelist .results *")) {
        const words = [...it.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data.trim()).join("");
        if (!words || !it.checkVisibility()) continue;
        const below = background(it);
        const lights = [light(over(getComputedStyle(it).color, below)), light(below)].sort((a, b) => b - a);
        const contrast = (lights[0] + 0.05) / (lights[1] + 0.05);
        if (contrast < 4.5) wrong.push(`${contrast.toFixed(1)}: ${it.tagName} ${it.className}: ${words}`);
    }
    return wrong;
}"""
"""Words have the contrast that the accessibility guidelines (WCAG 2.2, 1.4.3) ask of small text: 4.5 to 1."""

UNDERLINED: Final = """() => [...document.querySelectorAll("a.llm-button, a:has(> .llm-ask)")]
    .filter((link) => getComputedStyle(link).textDecorationLine !== "none").map((link) => link.innerText)"""
"""Buttons, and links that hold many words, are known by other signs. (Django 6.1 underlines links.)"""
